// The page's own script: fetches what the server has made and puts it in. It makes no page itself, so it escapes nothing.
'use strict';
(() => {
  const main = document.getElementById('main');
  const state = document.getElementById('state');
  const stateText = document.getElementById('state-text');
  const said = document.getElementById('said');
  // Everything that is put in is made by the server, which escapes every text; besides, no script but this one may run here.
  const policy = window.trustedTypes
    ? window.trustedTypes.createPolicy('toolgate', { createHTML: (text) => text })
    : { createHTML: (text) => text };
  const SESSION = 'toolgate-session';
  const MOST_ROWS = 500;
  let shown = 0; // which navigation is the last one
  let stream = null;

  const say = (text) => { said.textContent = ''; said.textContent = text; };
  const connected = (word) => { state.dataset.state = word; stateText.textContent = word; };
  const parse = (html) => {
    const template = document.createElement('template');
    template.innerHTML = policy.createHTML(html);
    return template.content;
  };

  // Tells why there is nothing, in words of the server.
  const failed = (text) => {
    const title = document.createElement('h1');
    title.textContent = 'Nothing to show';
    const why = document.createElement('p');
    why.className = 'notice';
    why.textContent = text;
    main.replaceChildren(title, why);
    main.removeAttribute('aria-busy');
    document.title = 'toolgate';
  };

  const ask = (path, options = {}) => fetch(path, {
    cache: 'no-store',
    credentials: 'omit',
    redirect: 'error',
    ...options,
    headers: { 'X-Toolgate-Session': sessionStorage.getItem(SESSION) || '', ...options.headers },
  });

  // The token in the address works once; what comes for it is kept as long as this tab is open.
  const enter = async () => {
    const token = location.hash.slice(1);
    if (!/^[0-9a-f]{64}$/.test(token)) return;
    history.replaceState(null, '', location.pathname + location.search);
    const answer = await fetch('/enter', {
      method: 'POST', cache: 'no-store', credentials: 'omit', redirect: 'error', headers: { 'X-Toolgate-Token': token },
    });
    if (answer.ok) sessionStorage.setItem(SESSION, await answer.text());
  };

  // Times in the reader's own zone.
  const times = (place) => {
    const today = new Date().toDateString();
    for (const element of place.querySelectorAll('time')) {
      const time = new Date(element.dateTime);
      if (Number.isNaN(time.getTime())) continue;
      const clock = time.toLocaleTimeString('en-GB');
      const day = time.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
      element.textContent = time.toDateString() === today ? clock : `${day} ${clock}`;
      element.title = element.dateTime;
    }
  };

  const mark = (path) => {
    for (const link of document.querySelectorAll('header nav a')) {
      const target = link.getAttribute('href');
      const isHere = path === target || (target === '/rules' && path.startsWith('/rules/'))
        || (target === '/' && path === '/session');
      if (isHere) link.setAttribute('aria-current', 'page'); else link.removeAttribute('aria-current');
    }
  };

  const put = (content) => {
    times(content);
    main.replaceChildren(content);
    main.removeAttribute('aria-busy');
    const title = main.querySelector('h1');
    document.title = title ? `${title.textContent.trim()}, toolgate` : 'toolgate';
  };

  const load = async (moves) => {
    const turn = ++shown;
    const path = location.pathname + location.search;
    mark(location.pathname);
    if (stream) stream.abort();
    main.setAttribute('aria-busy', 'true');
    try {
      const answer = await ask('/page' + path);
      const text = await answer.text();
      if (turn !== shown) return;
      if (!answer.ok) {
        connected(answer.status === 401 ? 'not connected' : 'connected');
        failed(text);
        return;
      }
      put(parse(text));
    } catch (error) {
      if (turn !== shown) return;
      connected('not connected');
      failed('The server has ended. Start toolgate dashboard again, and open the address that it prints.');
      return;
    }
    if (moves) {
      scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
    connected('connected');
    follow(turn);
  };

  const go = (path) => {
    history.pushState(null, '', path);
    load(true);
  };

  // Follows the log, where the page shows its end.
  const follow = async (turn) => {
    const rows = main.querySelector('[data-live]');
    if (!rows && !main.querySelector('[data-refresh]')) return;
    let path = rows ? rows.dataset.live : '/live?q=';
    let pause = 1000;
    while (turn === shown) {
      if (document.hidden) {
        connected('paused');
        await new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
        continue;
      }
      const own = new AbortController();
      stream = own;
      const hide = () => { if (document.hidden) own.abort(); };
      document.addEventListener('visibilitychange', hide);
      try {
        const answer = await ask(path, { signal: own.signal });
        if (!answer.ok) throw new Error(String(answer.status));
        connected('live');
        pause = 1000;
        await events(answer.body, (name, data) => {
          if (turn !== shown) return;
          if (name === 'missed') { load(false); return; }
          const call = JSON.parse(data);
          if (rows) {
            path = path.replace(/after=\d+/, `after=${call.seq}`);
            insert(rows, call);
          } else {
            refresh(turn);
          }
        });
      } catch (error) {
        // It is tried again below.
      } finally {
        document.removeEventListener('visibilitychange', hide);
      }
      if (turn !== shown) return;
      if (!document.hidden) {
        connected('reconnecting');
        await new Promise((resolve) => setTimeout(resolve, pause));
        pause = Math.min(pause * 2, 15000);
      }
    }
  };

  // Server-sent events, by hand: EventSource cannot send the session's header.
  const events = async (body, each) => {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split('\n\n');
      rest = blocks.pop();
      for (const block of blocks) {
        const line = (name) => block.split('\n').find((text) => text.startsWith(name));
        const name = line('event: ');
        const data = line('data: ');
        if (name && data) each(name.slice(7), data.slice(6));
      }
    }
  };

  let news = 0;
  let telling = null;
  const insert = (rows, call) => {
    const row = parse(`<table><tbody>${call.row}</tbody></table>`).querySelector('tr');
    if (!row) return;
    times(row);
    row.classList.add('new');
    rows.prepend(row);
    while (rows.rows.length > MOST_ROWS) rows.deleteRow(-1);
    const none = main.querySelector('.none');
    if (none) none.remove();
    // Many calls are told in one sentence.
    news += 1;
    clearTimeout(telling);
    telling = setTimeout(() => { say(news === 1 ? 'a new call' : `${news} new calls`); news = 0; }, 1000);
  };

  let refreshing = null;
  const refresh = (turn) => {
    if (refreshing) return;
    refreshing = setTimeout(async () => {
      refreshing = null;
      if (turn !== shown) return;
      const answer = await ask('/page' + location.pathname + location.search).catch(() => null);
      if (!answer || !answer.ok || turn !== shown) return;
      const content = parse(await answer.text());
      times(content);
      // Whoever reads with the keyboard keeps the place.
      const focused = document.activeElement;
      if (!main.contains(focused) || focused === main) {
        main.replaceChildren(content);
      } else {
        const was = main.querySelector('[data-refresh]');
        const is = content.querySelector('[data-refresh]');
        if (was && is && !was.contains(focused)) was.replaceWith(is);
      }
    }, 800);
  };

  const post = (path, body) => ask(path, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body),
  });

  // The playground's questions; only the last one's answer is shown.
  let asked = 0;
  const play = async (path) => {
    const turn = ++asked;
    const result = document.getElementById('result');
    const settings = document.getElementById('settings');
    const isOther = settings.value !== settings.dataset.own;
    result.setAttribute('aria-busy', 'true');
    const body = path === '/page/replay'
      ? { settings: settings.value, days: Number(document.getElementById('days').value) || 1 }
      : {
        command: document.getElementById('command').value,
        root: document.getElementById('root').value,
        settings: isOther ? settings.value : null,
      };
    let text;
    let isGood = false;
    try {
      const answer = await post(path, body);
      text = await answer.text();
      isGood = answer.ok;
    } catch (error) {
      text = 'The server has ended.';
    }
    if (turn !== asked) return;
    result.removeAttribute('aria-busy');
    if (isGood) {
      const content = parse(text);
      times(content);
      result.replaceChildren(content);
    } else {
      const why = document.createElement('pre');
      why.className = 'notice';
      why.tabIndex = 0;
      why.textContent = text;
      result.replaceChildren(why);
    }
  };

  document.addEventListener('click', (event) => {
    const copy = event.target.closest('[data-copy]');
    if (copy) {
      navigator.clipboard.writeText(copy.dataset.copy).then(() => say('copied'), () => say('could not be copied'));
      return;
    }
    if (event.target.closest('#replay')) { play('/page/replay'); return; }
    const link = event.target.closest('a[href]');
    const isPlain = !event.defaultPrevented && event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
    if (link && isPlain && link.origin === location.origin && !link.getAttribute('href').startsWith('#')) {
      event.preventDefault();
      go(link.pathname + link.search);
    }
  });

  document.addEventListener('submit', (event) => {
    event.preventDefault();
    const form = event.target;
    if (form.id === 'play') { play('/page/playground'); return; }
    const query = new URLSearchParams(new FormData(form)).toString();
    go(`${new URL(form.action).pathname}?${query}`);
  });

  document.addEventListener('keydown', (event) => {
    const form = event.target.closest ? event.target.closest('#play') : null;
    if (form && event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      play('/page/playground');
    }
  });

  addEventListener('popstate', () => load(true));
  // Another address of the same server, in the same tab.
  addEventListener('hashchange', () => enter().then(() => load(true)));

  enter().catch(() => null).then(() => load(false));
})();
