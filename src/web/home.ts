import { joinNameOf } from '../model/study.ts';
import { markup } from './pages/markup.ts';
import { shell } from './pages/shell.ts';
import { answerOf, type WebAnswer, type WebCall } from './web.ts';

export async function showHome({ t, store }: WebCall): Promise<WebAnswer> {
  const words = t.home;
  const open = (await store.studies.list()).filter(
    (study) => study.listed === true && study.open && study.joining === 'open',
  );
  const studies = open.map(
    (study) => markup`<li><a class="btn" href="/join/${joinNameOf(study)}">${study.name}</a></li>`,
  );
  const join =
    studies.length > 0
      ? markup`<p>${words.joinText}</p><ul class="acts">${studies}</ul>`
      : markup`<p>${words.joinNone}</p>`;
  const body = markup`<h1>${words.title}</h1><p class="lead">${words.lead}</p><div class="cards">
<section class="card"><h2>${words.me}</h2><p>${words.meText}</p><a class="btn go" href="/me">${t.me.days}</a></section>
<section class="card"><h2>${words.join}</h2>${join}</section>
<section class="card"><h2>${words.manage}</h2><p>${words.manageText}</p><a class="btn" href="/study">${t.signIn.managers}</a></section></div>`;
  return answerOf(shell({ t, title: t.service, body }));
}
