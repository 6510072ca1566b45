// Compares puts while a manager downloads the archive of a study in a browser with puts on an idle server.
import { setTimeout } from 'node:timers/promises';
import { against, inFolder, line, median, ms, putsBeside, quantile, run, seconds, startServer } from './kit.js';

const days = 31;
const rounds = 3;
const target = 2; // times; p99 of a put beside the archive, divided by p99 on an idle server

/** Prints p99 of a put of 50 idle and beside the download, in turns, and the median of the ratios. */
export async function archive({ people = 20, workers = 2 } = {}) {
  console.log(
    `\narchive: puts of 50 entries beside the archive of ${people} people of ${days} days, ${workers} workers`,
  );
  await inFolder(async (folder) => {
    const at = ['--store', folder];
    await run(['simulate', '--study', 'sunny', '--users', String(people), '--days', String(days), ...at]);
    await run(['pipeline', '--all', '--workers', '2', '--quiet', ...at]);
    const { stdout } = await run(['managers', 'add', 'mira', '--study', 'sunny', '--may-export', '--json', ...at]);
    await run(['users', 'add', 'ada', ...at]);
    const server = await startServer(folder, { workers });
    const download = await signIn(`http://127.0.0.1:${server.port}`, JSON.parse(stdout));
    const ratios = [];
    for (let round = 0; round < rounds; round++) {
      let bytes = 0;
      const took = { idle: 0, beside: 0 };
      const idle = await putsBeside(server.port, 'ada', () => setTimeout(10_000));
      const beside = await putsBeside(server.port, 'ada', async () => {
        const began = seconds();
        bytes = await download();
        took.beside = seconds() - began;
      });
      const [quiet, busy] = [idle, beside].map(({ times }) => quantile(times, 0.99));
      ratios.push(busy / quiet);
      const text = `${(bytes / 2 ** 20).toFixed(1)} MiB in ${took.beside.toFixed(1)} s`;
      line(`${text}; puts: ${idle.times.length}, ${beside.times.length}; p99`, `${ms(quiet)}, ${ms(busy)}`);
    }
    line('ratio', median(ratios).toFixed(2), against(median(ratios), target, `${target} times`));
    await server.stop();
  });
}

/** Signs in as the manager. Returns a function that downloads the archive and resolves with its bytes. */
async function signIn(url, { name, password }) {
  const cookies = new Map();
  const call = async (path, fields) => {
    const headers = { Cookie: [...cookies].map((pair) => pair.join('=')).join('; '), Origin: url };
    const answer = await fetch(url + path, {
      ...(fields && { method: 'POST', body: new URLSearchParams(fields) }),
      headers,
      redirect: 'manual',
    });
    for (const text of answer.headers.getSetCookie()) {
      const [, key, value] = /^([^=]+)=([^;]*)/.exec(text);
      cookies.set(key, value);
    }
    return answer;
  };
  /** Sends the form of a page with its hidden and given fields. */
  const submit = async (page, action, fields) => {
    const text = await (await call(page)).text();
    const hidden = [...text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map((found) =>
      found.slice(1),
    );
    return call(action, { ...Object.fromEntries(hidden), ...fields });
  };
  const answer = await submit('/sign-in/study', '/sign-in/study', { name, password });
  if (answer.status !== 303) throw new Error(`the sign-in answered ${answer.status}: ${await answer.text()}`);
  const dates = await (await call('/study/sunny/export')).text();
  const [from, to] = ['from', 'to'].map(
    (field) => new RegExp(`name="${field}" required value="([^"]*)"`).exec(dates)[1],
  );
  return async () => {
    const answer = await submit('/study/sunny/export', '/study/sunny/export.zip', { from, to, coarse: '' });
    if (answer.status !== 200)
      throw new Error(`the export answered ${answer.status} ${answer.headers.get('location')}`);
    return (await answer.arrayBuffer()).byteLength;
  };
}
