// Pictures of the pages for the manual, light and dark.
// usage: shots.mjs TOOLGATE DIR OUT, with an empty DIR.

import { join } from 'node:path';
import { World, browse, fromSources, serve } from './world.mjs';

const [toolgate, dir, out] = process.argv.slice(2);
const COMMAND = 'cp src/cart.ts ../search/src/ && git push --force && make deploy > log.txt';
// With ALL=1 those too that the manual does not show.
const MORE = [['calls', '/calls'], ['agents', '/agents'], ['rules', '/rules'], ['rule', '/rules/git-reset-hard'], ['settings', '/settings'], ['record', '/record/9']];
const PAGES = [['sessions', '/'], ['denials', '/denials'], ['playground', '/playground'], ...(process.env.ALL ? MORE : [])];

const world = new World(toolgate, dir);
world.work();
const server = await serve(world, world.worktrees.checkout);
const browser = await browse(dir);
try {
  const page = await browser.newPage();
  await fromSources(page, server.origin);
  await page.goto(server.address);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const [name, path] of PAGES) {
      await page.goto(server.origin + path);
      await page.waitForFunction(() => document.querySelector('main h1') && !document.querySelector('main[aria-busy]'));
      if (await page.$('[data-live], [data-refresh]')) await page.waitForSelector('#state[data-state="live"]');
      if (name === 'playground') {
        await page.fill('#command', COMMAND);
        await page.click('button.main');
        await page.waitForSelector('.verdict');
        await page.mouse.move(0, 0);
        await page.evaluate(() => document.activeElement.blur());
      }
      // A scratch directory has a name that nobody wants to read.
      await page.evaluate((scratch) => {
        const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
        while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(scratch, '/home/dev');
      }, dir);
      await page.screenshot({ path: join(out, `dashboard-${name}-${colorScheme}.png`) });
    }
  }
} finally {
  server.child.removeAllListeners('exit');
  server.child.kill();
  await browser.close();
}
