// Pushes one simulated day to a server that runs with --auth dev, as a phone does, and pulls the documents of the
// server.
//
//   node examples/push-a-day.js http://127.0.0.1:8080 ada@example.org
import { simulateDay } from 'mobility';

const [server = 'http://127.0.0.1:8080', user = 'ada@example.org'] = process.argv.slice(2);

const phone_to_server = simulateDay({ platform: 'android', day: '2024-03-12', seed: user });
console.log('put:', await call('/usercache/put', { user, phone_to_server }));
// A phone that got no answer pushes the same entries again. The server stores each once.
console.log('put:', await call('/usercache/put', { user, phone_to_server }));

const { server_to_phone } = await call('/usercache/get', { user });
console.log('get:', server_to_phone.map((document) => document.metadata.key).join(', ') || 'no documents yet');

async function call(path, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(server + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${text}`);
  return JSON.parse(text);
}
