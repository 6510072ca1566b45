// Makes printed invitations, one sheet per person. The sheets load no files.
import type { StudyTexts } from '../../model/study-texts.ts';
import { Markup, type MarkupValue, markup } from './markup.ts';
import { qrSvg } from './qr.ts';
import { document } from './shell.ts';
import type { Texts } from './texts/texts.ts';

export interface Invitation {
  /** The name of the account, at the foot of the sheet. It is no secret: no token contains it. */
  code: string;
  setUp: string; // the text in the QR code, which configures the app
  days: string; // a link to the person's days that works once
}

interface Invitations {
  study: StudyTexts;
  app: string;
  isScannedInApp: boolean; // true: the code is scanned within the app, not with the camera
  page: string; // address of the page with more information
  until: string;
  people: readonly Invitation[];
}

const sheetStyle = `@page{size:A4;margin:0}*{box-sizing:border-box}body{margin:0;background:#fff;color:#16191d;font:11pt/1.45 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.sheet{width:210mm;height:296mm;padding:18mm 20mm 12mm;display:flex;flex-direction:column;overflow:hidden;break-after:page}
header,footer{display:flex;justify-content:space-between;gap:6mm}header{border-bottom:1.2mm solid;padding-bottom:3mm}footer{margin-top:auto;border-top:.3mm solid #858b93;padding-top:3mm;font-size:9.5pt;color:#565c64}
h1{font-size:27pt;line-height:1.12;margin:10mm 0 4mm;max-width:150mm}h2{font-size:14pt;margin:0;line-height:1.3;padding-top:1.5mm}h3{font-size:12pt;margin:0 0 1mm}p{margin:0}.lead{font-size:13pt;max-width:160mm}
.g{display:grid;grid-template-columns:66mm 1fr;gap:12mm;margin:10mm 0}figure{margin:0}svg{display:block;width:100%;height:auto}figure svg{border:.4mm solid;border-radius:2mm}figcaption{font-size:9.5pt;color:#565c64;margin-top:2mm;text-align:center}
ol{list-style:none;margin:0;padding:0}li{display:grid;grid-template-columns:10mm 1fr;gap:4mm;position:relative;padding-bottom:6mm}li:not(:last-child):before{content:"";position:absolute;left:4.4mm;top:5mm;bottom:0;width:1.2mm;background:#16191d}
.n{position:relative;width:10mm;height:10mm;border:1mm solid;border-radius:50%;background:#fff;display:grid;place-items:center}
.days{display:grid;grid-template-columns:34mm 1fr;gap:8mm;background:#f5f5f2;border-radius:2mm;padding:4mm 5mm;align-items:center}.two{display:grid;grid-template-columns:1.5fr 1fr;gap:12mm;margin-top:8mm}
code{font:9pt/1.3 ui-monospace,Menlo,Consolas,monospace;overflow-wrap:anywhere}@media screen{body{background:#ddd}.sheet{background:#fff;margin:6mm auto}}`;

export function invitationSheets(shared: Invitations, t: Texts): string {
  const words = t.invite;
  const sheets = shared.people.map((person, i) => sheet(shared, person, i + 1, t));
  return document(t, `${words.title} – ${shared.study.name}`, sheetStyle, sheets).text;
}

function sheet(shared: Invitations, person: Invitation, number: number, t: Texts): Markup {
  const { study, app, isScannedInApp, page, until, people } = shared;
  const words = t.invite;
  const scanText = isScannedInApp ? words.scanInApp : words.scanText;
  return markup`<main class="sheet"><header><b>${study.name}</b><span>${study.partner}</span></header>
<h1>${words.title}</h1><p class="lead">${study.description || words.lead}</p>
<div class="g"><figure>${new Markup(qrSvg(person.setUp))}<figcaption>${words.code}</figcaption></figure><ol>
${step(1, words.app(app), words.appText)}${step(2, words.scan, scanText)}${step(3, words.allow, words.allowText)}</ol></div>
<section class="days">${new Markup(qrSvg(person.days))}<div><h3>${words.days}</h3><p>${words.daysText(until)}</p><code>${person.days}</code></div></section>
<div class="two"><section><h3>${words.data}</h3><p>${words.dataText}</p></section>
<section>${study.contact && markup`<h3>${words.contact}</h3><p>${study.contact}</p>`}<h3>${words.more}</h3><code>${page}</code></section></div>
<footer><span>${words.person}</span><span>${person.code} · ${words.sheet(number, people.length)}</span></footer></main>
`;
}

const step = (number: number, title: string, text: MarkupValue): Markup =>
  markup`<li><b class="n">${number}</b><div><h2>${title}</h2><p>${text}</p></div></li>`;
