import { joinNameOf, type StudyRecord, subgroupsOf } from '../model/study.ts';
import { type StudyTexts, studyTexts } from '../model/study-texts.ts';
import { Markup, type MarkupValue, markup } from './pages/markup.ts';
import { icon } from './pages/mode-styles.ts';
import { qrSvg } from './pages/qr.ts';
import { shell } from './pages/shell.ts';
import { type Texts, textsFor } from './pages/texts/texts.ts';
import { answerOf, type WebAnswer, type WebCall } from './web.ts';

const apps = {
  emission: {
    name: 'e-mission',
    ios: 'https://apps.apple.com/us/app/emission/id1084198445',
    android: 'https://play.google.com/store/apps/details?id=edu.berkeley.eecs.emission',
  },
  nrelopenpath: {
    name: 'OpenPATH',
    ios: 'https://apps.apple.com/us/app/nrel-openpath/id1628058068',
    android: 'https://play.google.com/store/apps/details?id=gov.nrel.cims.openpath',
  },
} as const;

export async function showJoin(call: WebCall): Promise<WebAnswer> {
  const { store, params, query, preferred } = call;
  const name = params.name ?? query.study_config ?? '';
  const study = await store.studies.byJoinName(name);
  if (study === null || joinNameOf(study) !== name) {
    const { gone, goneText } = call.t.join;
    const body = markup`<h1>${gone}</h1><p class="lead">${goneText}</p>`;
    return answerOf(shell({ t: call.t, title: gone, isNarrow: true, body }), 404);
  }
  const texts = studyTexts(study, preferred);
  // A study without a text in a preferred language uses its own language.
  const t = textsFor([...preferred, texts.language]);
  const lang = texts.language !== t.language && markup` lang="${texts.language}"`;
  const words = t.join;
  const points = [...words.points, study.show_names ? words.underName : words.underCode];
  const body = markup`<h1>${words.title(texts.name)}</h1><p class="lead"><span${lang}>${texts.description}</span> ${texts.partner && words.by(texts.partner)}</p>${texts.summary.map((one) => markup`<p${lang}>${one}</p>`)}
${texts.why && markup`<section><h2>${words.why}</h2><p${lang}>${texts.why}</p></section>`}
${texts.questions.length > 0 && markup`<section><h2>${words.questions}</h2><ul class="points"${lang}>${texts.questions.map((one) => markup`<li>${one}</li>`)}</ul></section>`}
<section><h2>${words.agree}</h2><ul class="points">${points.map((one) => markup`<li>${icon('yes')}<span>${one}</span></li>`)}<li class="soft">${icon('no')}<span>${words.never}</span></li></ul>
${texts.consent.length > 0 && markup`<details><summary><span>${words.whole}</span></summary><div${lang}>${texts.consent.map((one) => markup`<p>${one}</p>`)}</div></details>`}</section>
${joinSection({ ...call, t }, study)}${contact(texts, t)}`;
  return answerOf(shell({ t, title: words.title(texts.name), brand: texts.name, isNarrow: true, query, body }));
}

function joinSection({ t, query, address }: WebCall, study: StudyRecord): Markup {
  const words = t.join;
  if (!study.open) return markup`<p class="note">${words.closed}</p>`;
  if (study.joining === 'list') return markup`<p class="note">${words.byList}</p>`;
  const scheme = query.app === 'nrelopenpath' ? 'nrelopenpath' : 'emission';
  const groups = subgroupsOf(study);
  const asked = query.sub_group ?? '';
  const group = groups.length === 1 ? groups[0]! : groups.find((one) => one === asked);
  const page = (one: string): string => {
    const own = new URLSearchParams({ sub_group: one, ...(scheme !== 'emission' && { app: scheme }) });
    return `/join/${joinNameOf(study)}?${own}`;
  };
  if (group === undefined) {
    const choices = groups.map((one) => markup`<li><a class="btn" href="${page(one)}">${one}</a></li>`);
    return markup`<section><h2>${words.group}</h2><ul class="acts">${choices}</ul></section>`;
  }
  const { name, ...stores } = apps[scheme];
  const get = (['ios', 'android'] as const).map(
    (phone) =>
      markup`<a class="btn" rel="noreferrer" href="${stores[phone]}">${words.stores[phone]} <span class="soft">${words.phones[phone]}</span></a>`,
  );
  const inApp = new URLSearchParams({ study_config: joinNameOf(study), sub_group: group });
  const code = new Markup(qrSvg(`${address}${page(group)}`));
  const open = markup`<div class="on-phone"><p>${words.openText}</p><a class="btn go" href="${`${scheme}://join?${inApp}`}">${words.openDo}</a><p class="small soft">${words.openNothing}</p></div>
<div class="on-desk"><p><b>${words.scan}.</b> ${words.scanText}</p><div class="qr">${code}</div></div>`;
  return markup`<section><h2>${words.steps}</h2><ol class="steps">
${step(1, t.invite.app(name), markup`<p>${words.appText}</p><div class="acts">${get}</div>`)}
${step(2, words.open, open)}
${step(3, t.invite.allow, markup`<p>${words.allowText}</p>`)}</ol></section>`;
}

const step = (number: number, title: string, content: MarkupValue): Markup =>
  markup`<li><b class="step-no" aria-hidden="true">${number}</b><div><h3>${title}</h3>${content}</div></li>`;

function contact({ contact: text }: StudyTexts, t: Texts): MarkupValue {
  const mail = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/.exec(text)?.[0];
  const write = mail !== undefined && markup`<a class="btn" href="${`mailto:${mail}`}">${t.join.mail}</a>`;
  return text && markup`<section class="card"><h2>${t.invite.contact}</h2><p>${text}</p>${write}</section>`;
}

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
