// The dashboard in a browser, as a person has it: every page, by mouse and by keyboard alone, light and dark, with an accessibility checker; and
// what agents wrote, which must not run.
// usage: test.mjs TOOLGATE DIR, with an empty DIR. Fails loudly; prints what was shown.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { World, browse, fromSources, serve } from './world.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const HOSTILE = `<img src=x onerror="window.owned=1"><script>window.owned=2</script>"'&\u202e`;
const [toolgate, dir] = process.argv.slice(2);

const world = new World(toolgate, dir);
world.work();
world.shell('ripley', 'checkout', `cat '../${HOSTILE}' && echo ${HOSTILE}`);
world.call('ripley', 'checkout', 'Read', { file_path: join(world.dir, HOSTILE.replaceAll('/', '')) });
world.call('ash', 'payments', HOSTILE, { [HOSTILE]: HOSTILE });
const server = await serve(world, world.worktrees.checkout);
const browser = await browse(dir);
const shown = (what) => console.log(`shown: ${what}`);

// A page of which everything that goes wrong is known.
const wrong = [];
const open = async (context = browser) => {
  const page = await context.newPage();
  await fromSources(page, server.origin);
  page.on('pageerror', (error) => wrong.push(`error: ${error}`));
  page.on('dialog', (dialog) => { wrong.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on('console', (line) => { if (/Content Security Policy|Trusted|Refused/i.test(line.text())) wrong.push(line.text()); });
  page.on('request', (request) => { if (!request.url().startsWith(`${server.origin}/`)) wrong.push(`asked elsewhere: ${request.url()}`); });
  return page;
};
const ready = (page) => page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('[aria-busy]'));
const visit = async (page, path) => {
  await page.goto(server.origin + path);
  await ready(page);
};
const checked = async (page, what) => {
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  const told = violations.map((found) => `${found.id}: ${found.help}\n  ${found.nodes.map((node) => node.html + '\n    ' + node.failureSummary).join('\n  ')}`);
  assert.deepEqual(told, [], what);
};

try {
  // Without the address there is an empty page, and nothing of the log in it.
  const stranger = await open();
  await visit(stranger, '/calls');
  assert.match(await stranger.textContent('main'), /open the address/);
  assert.ok(!(await stranger.content()).includes('ripley'));
  await checked(stranger, 'without the address');
  shown('without the address the page is empty');

  const page = await open();
  await page.goto(server.address);
  await ready(page);
  assert.equal(page.url(), `${server.origin}/`, 'the token is not in the address any more');
  assert.match(await page.textContent('main'), /ripley/);
  await page.reload();
  await ready(page);
  assert.match(await page.textContent('main'), /ripley/);
  assert.deepEqual(await browser.cookies(), []);
  shown('the address opens the page, a reload keeps it, and there is no cookie');

  const again = await open();
  await again.goto(server.address);
  await ready(again);
  assert.match(await again.textContent('main'), /each works once/);
  await again.close();
  await stranger.close();
  shown('a used address opens nothing');

  // What another page could do with the port.
  const foreign = await open();
  await foreign.route('http://evil.example/', (route) => route.fulfill({ contentType: 'text/html', body: '<title>evil</title>' }));
  wrong.length = 0;
  await foreign.goto('http://evil.example/');
  const got = await foreign.evaluate(async (origin) => {
    const tried = [];
    for (const [path, options] of [['/', {}], ['/page/calls', { headers: { 'X-Toolgate-Session': 'x' } }], ['/enter', { method: 'POST', mode: 'no-cors' }], ['/', { mode: 'no-cors' }]]) {
      tried.push(await fetch(origin + path, options).then((answer) => answer.text(), () => ''));
    }
    return tried;
  }, server.origin);
  assert.deepEqual(got, ['', '', '', '']);
  await foreign.close();
  wrong.length = 0;
  shown('another page reads nothing');

  const hrefs = async () => page.$$eval('tbody a[href^="/record/"]', (links) => links.map((link) => link.getAttribute('href')));
  await visit(page, '/calls');
  const records = await hrefs();
  const denied = await page.$eval('tr.deny a[href^="/record/"]', (link) => link.getAttribute('href'));
  const contained = await page.$eval('tr.contain a[href^="/record/"]', (link) => link.getAttribute('href'));
  const session = await page.evaluate(async () => '/session?session=ripley-checkout-session');
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme });
    for (const [path, says] of [
      ['/', /Sessions/], ['/denials', /outside-scope/], ['/calls', /git reset --hard/], ['/calls?q=verdict%3Adeny+agent%3Aash', /of \d+ calls looked at/],
      [session, /Session of ripley/], ['/agents', /dallas/], [denied, /Objections/], [contained, /Facts/], [records[0], /Record/],
      ['/rules', /floor/], ['/rules/git-reset-hard', /Example/], ['/rules/outside-scope', /./], ['/settings', /Settings in force/], ['/playground', /Nothing is run/],
      ['/rules/nobody', /Nothing to show/],
    ]) {
      await visit(page, path);
      assert.match(await page.textContent('main'), says, path);
      await checked(page, `${path} ${colorScheme}`);
    }
  }
  shown('every page, light and dark, with no finding of axe');

  await page.setViewportSize({ width: 380, height: 700 });
  for (const path of ['/', '/denials', denied, '/settings', '/playground']) {
    await visit(page, path);
    const [is, may] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
    assert.ok(is <= may, `${path} is ${is} wide on a screen of ${may}`);
    await checked(page, `${path}, narrow`);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  shown('narrow screens scroll down only');

  // By keyboard alone.
  await visit(page, '/');
  const focused = () => page.evaluate(() => {
    const element = document.activeElement;
    const { outlineStyle } = getComputedStyle(element);
    return { text: element.textContent.trim(), href: element.getAttribute('href'), ring: outlineStyle, id: element.id };
  });
  const tabTo = async (is) => {
    for (let steps = 0; steps < 200; steps += 1) {
      await page.keyboard.press('Tab');
      const found = await focused();
      if (is(found)) {
        assert.notEqual(found.ring, 'none', `${found.text} shows no ring`);
        return found;
      }
    }
    throw new Error('the keyboard does not lead there');
  };
  await page.keyboard.press('Tab');
  assert.equal((await focused()).text, 'Skip to the page');
  await page.keyboard.press('Enter');
  await visit(page, '/');
  await tabTo((found) => found.href === '/denials');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/denials');
  await ready(page);
  const link = await tabTo((found) => (found.href || '').startsWith('/record/'));
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${link.href}`);
  await ready(page);
  // The browser's own key for it; without a window there is none.
  await page.goBack();
  await page.waitForURL('**/denials');
  await ready(page);
  await tabTo((found) => found.href === '/playground');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/playground');
  await ready(page);
  await tabTo((found) => found.id === 'command');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('cp src/cart.ts ../search/src/ && git push --force');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('#result .verdict');
  shown('the keyboard alone leads to a record, back, and to a verdict');

  // The playground: the command underlined, then with other settings, then on past calls.
  const drawn = await page.$$eval('.drawn .said', (pieces) => pieces.map((piece) => [piece.textContent, piece.classList[1]]));
  assert.deepEqual(drawn, [['cp src/cart.ts ../search/src/', 'deny'], ['git push --force', 'deny']]);
  await page.click('summary');
  const own = await page.inputValue('#settings');
  assert.match(own, /git-stash-drop = "ask"/, 'the person\'s own file');
  await page.fill('#settings', own.replace('[rules]', '[rules]\ngit-push-force = "allow"'));
  await page.fill('#command', 'git push --force');
  await page.click('button.main');
  await page.waitForSelector('.compared');
  const verdicts = await page.$$eval('.compared .verdict h2 .badge', (badges) => badges.map((badge) => badge.textContent));
  assert.equal(verdicts[0], 'deny');
  assert.notEqual(verdicts[1], 'deny');
  await checked(page, 'the playground with two verdicts');
  await page.click('#replay');
  await page.waitForFunction(() => /would be decided differently/.test(document.querySelector('#result').textContent), null, { timeout: 120_000 });
  assert.match(await page.textContent('#result'), /git push --force/);
  await checked(page, 'the playground with past calls');
  await page.fill('#settings', '[nonsense');
  await page.click('button.main');
  await page.waitForFunction(() => /toolgate\.toml/.test(document.querySelector('#result').textContent) && !document.querySelector('#result[aria-busy]'));
  await page.fill('#settings', own);
  await page.fill('#command', `cat ${HOSTILE}`);
  await page.click('button.main');
  await page.waitForFunction(() => /onerror/.test(document.querySelector('#result .drawn')?.textContent || ''));
  shown('the playground judges with other settings, and past calls by them');

  // Calls come while somebody looks, and what is in them is text.
  await visit(page, '/calls?q=verdict%3Adeny');
  await page.waitForSelector('#state[data-state="live"]');
  const before = (await hrefs()).length;
  world.shell('dallas', 'search', `rm -rf /etc # live ${HOSTILE}`);
  world.shell('dallas', 'search', 'ls # is not shown');
  await page.waitForFunction((count) => document.querySelectorAll('tbody tr').length > count, before, { timeout: 20_000 });
  const first = await page.textContent('tbody tr:first-child');
  assert.match(first, /rm -rf \/etc # live <img src=x/);
  assert.ok(first.includes('\\u{202e}'), `the mark of direction is spelled out: ${first}`);
  await checked(page, 'with a call that came');
  await visit(page, '/');
  await page.waitForSelector('#state[data-state="live"]');
  world.shell('kane', 'search', 'git status');
  await page.waitForFunction(() => /kane/.test(document.querySelector('main').textContent), null, { timeout: 20_000 });
  shown('calls arrive live');

  for (const path of ['/', '/calls', '/denials', '/agents', ...records.slice(0, 3)]) await visit(page, path);
  assert.equal(await page.evaluate(() => window.owned), undefined);
  assert.equal(await page.$$eval('main img, main script, main iframe', (found) => found.length), 0);
  assert.deepEqual(wrong, []);
  shown('nothing of what agents wrote runs, nothing is asked elsewhere, and the policy was never broken');

  server.child.removeAllListeners('exit');
  const ended = new Promise((resolve) => server.child.on('exit', resolve));
  server.child.kill('SIGINT');
  assert.equal(await ended, 0);
  await page.click('a[href="/rules"]');
  await page.waitForFunction(() => /The server has ended/.test(document.querySelector('main').textContent));
  shown('ctrl-C ends it, and the page says so');
} finally {
  server.child.removeAllListeners('exit');
  server.child.kill();
  await browser.close();
}
