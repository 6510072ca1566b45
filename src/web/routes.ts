import { showHome, showJoin } from './join.ts';
import { correctDay, labelTrip } from './me-corrections.ts';
import { previewDay, showDay, showMonth } from './me-days.ts';
import * as data from './my-data.ts';
import { importUpload, undoImport } from './my-imports.ts';
import { showServer } from './operator.ts';
import * as sessions from './sign-in.ts';
import { sendExport, showExport } from './study-export.ts';
import { showFigures, showFlagged } from './study-figures.ts';
import { sendReminders, showPeople, showPerson } from './study-pages.ts';
import { sendTile } from './tiles.ts';
import type { WebRoute } from './web.ts';

export const webRoutes: readonly WebRoute[] = [
  { method: 'GET', path: '/', who: 'anybody', answer: showHome },
  // The link of `mobility study link --scheme https` names the study in the query.
  { method: 'GET', path: '/join/', who: 'anybody', answer: showJoin },
  { method: 'GET', path: '/join/:name', who: 'anybody', answer: showJoin },
  { method: 'GET', path: '/sign-in', who: 'anybody', answer: sessions.explainLinks },
  { method: 'GET', path: '/me/open', who: 'anybody', answer: sessions.showLink },
  { method: 'POST', path: '/me/open', who: 'anybody', answer: sessions.openDays },
  { method: 'POST', path: '/me/sign-out', who: 'person', answer: sessions.signOut },
  { method: 'GET', path: '/sign-in/study', who: 'anybody', answer: sessions.passwordForm },
  { method: 'POST', path: '/sign-in/study', who: 'anybody', answer: sessions.signIn },
  { method: 'GET', path: '/study', who: 'manager', answer: sessions.chooseStudy },
  { method: 'POST', path: '/sign-out/study', who: 'manager', answer: sessions.signOutManager },
  { method: 'GET', path: '/me', who: 'person', answer: showDay },
  { method: 'GET', path: '/me/day/:day', who: 'person', answer: showDay },
  { method: 'POST', path: '/me/preview', who: 'person', answer: previewDay },
  { method: 'GET', path: '/me/month', who: 'person', answer: showMonth },
  { method: 'GET', path: '/me/month/:month', who: 'person', answer: showMonth },
  { method: 'POST', path: '/me/correct', who: 'person', answer: correctDay },
  { method: 'POST', path: '/me/label', who: 'person', answer: labelTrip },
  { method: 'GET', path: '/me/data', who: 'person', answer: data.showData },
  { method: 'GET', path: '/me/data/records.jsonl', who: 'person', answer: data.sendRecords },
  { method: 'GET', path: '/me/data/download', who: 'person', answer: data.sendDays },
  { method: 'POST', path: '/me/lost', who: 'person', answer: data.losePhone },
  { method: 'POST', path: '/me/sign-out-others', who: 'person', answer: data.signOutOthers },
  { method: 'POST', path: '/me/stop', who: 'person', answer: data.stopRecording },
  { method: 'POST', path: '/me/erase', who: 'person', answer: data.askErasure },
  { method: 'POST', path: '/me/keep', who: 'person', answer: data.keepData },
  { method: 'POST', path: '/me/import', who: 'person', takesFile: true, answer: importUpload },
  { method: 'POST', path: '/me/import/undo', who: 'person', answer: undoImport },
  { method: 'GET', path: '/study/:study', who: 'study', answer: showPeople },
  { method: 'GET', path: '/study/:study/reminders.csv', who: 'study', answer: sendReminders },
  { method: 'GET', path: '/study/:study/p/:id', who: 'study', answer: showPerson },
  { method: 'GET', path: '/study/:study/p/:id/:day', who: 'study', answer: showPerson },
  { method: 'GET', path: '/study/:study/figures', who: 'study', answer: showFigures },
  { method: 'GET', path: '/study/:study/figures/:month', who: 'study', answer: showFigures },
  { method: 'GET', path: '/study/:study/flagged', who: 'study', answer: showFlagged },
  { method: 'GET', path: '/study/:study/export', who: 'study', answer: showExport },
  { method: 'POST', path: '/study/:study/export.zip', who: 'study', answer: sendExport },
  { method: 'GET', path: '/operator', who: 'operator', answer: showServer },
  { method: 'GET', path: '/me/tiles/:z/:x/:y', who: 'person', answer: sendTile },
  { method: 'GET', path: '/study/:study/tiles/:z/:x/:y', who: 'study', answer: sendTile },
];

/** Decodes a character that needs no percent-encoding, so that the path matches its route. */
const plain = (code: string): string => {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return /[\w.~-]/.test(character) ? character : code;
};

/** Returns a path with `:hidden` in place of the person, day, month or tile of a page. */
export const pathForLog = (path: string): string =>
  path
    .replace(/%[2-7][\da-f]/gi, plain)
    .replace(/^(\/study\/[^/]+\/(?:p|tiles)|\/me\/(?:day|month|tiles))\/.+/s, '$1/:hidden');
