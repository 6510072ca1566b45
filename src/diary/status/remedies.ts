import { counted, oneLine } from '../../log/text.ts';
import { appIds } from '../../model/apps.ts';
import type { PersonFigures } from '../../store/store.ts';
import { agoText, minuteText } from '../number-text.ts';
import { type BreakageCode, breakages } from './breakages.ts';
import type { BrokenStep, PersonStatus } from './person-status.ts';

export type Remedy = { why: string; next: string };

export type Shown = { now: number; zone: string };

interface Facts extends PersonFigures {
  name: string; // quoted for a command line
  token: string; // the command that makes a new token
  since: string; // when the step began to fail
  called: string; // when the phone called last, and how long ago
  rejected: number; // number of rejected entries
  faults: number; // number of entries rejected because a converter failed
  shown: Shown;
}

export function findRemedy(status: PersonStatus, broken: BrokenStep, shown: Shown): Remedy {
  const { user, figures, chain, damage, faults } = status;
  const name = quotedName(user.user_email);
  const app = appIds.find((one) => figures.tokens.some(({ kind }) => kind === one));
  const { detail, next } = remedies[broken.code]({
    ...figures,
    name,
    token: `mobility users token ${name}${app === undefined ? '' : ` --app ${app}`} --qr`,
    since: minuteText(broken.since ?? 0, shown.zone),
    called: timeAndAge(chain.called.ts, shown),
    rejected: countRejected(figures),
    faults,
    shown,
  });
  const why = damage ?? breakages[broken.code].text;
  return { why: detail === undefined ? why : `${why} ${detail}`, next };
}

const phones = 'docs/phones.md';

const remedies: Record<BreakageCode, (facts: Facts) => { detail?: string; next: string }> = {
  damaged: ({ name }) => ({
    next: `restore a backup, or leave the row out: mobility store check --user ${name} --leave-out`,
  }),
  unfinished: ({ name, stage }) => ({
    next: stage === 'erasing' ? `mobility erase --user ${name}` : 'repeat the `mobility migrate`',
  }),
  stopped: ({ token }) => ({
    next: `nothing: it is their wish; to record again, if they ask for it: ${token}`,
  }),
  no_token: ({ token, since }) => ({ detail: `The last token is refused since ${since}.`, next: token }),
  never_called: ({ name, token, tokens, user }) => {
    if (tokens.length === 0 && user.study === undefined) return { detail: 'The person has no token.', next: token };
    return {
      next: `ask ${name} to install the app and to open their link; to test whether phones reach the server: mobility doctor --url https://…`,
    };
  },
  refused: ({ name, token, profile, shown }) => ({
    detail: `It ${profile.last_refusal === undefined ? 'was' : `is ${String(profile.last_refusal)},`} last tried ${agoText(Number(profile.last_refusal_ts), shown.now)}.`,
    next:
      profile.last_refusal_why === 'unknown'
        ? `ask ${name} to type the token again, or give them a new one: ${token}`
        : token,
  }),
  silent: ({ name }) => ({
    next: `ask ${name}: is the phone on, the app installed and signed in, is it allowed to work in the background? (${phones}) No change on the server can help`,
  }),
  limited: ({ profile }) => ({
    detail: `The limit is ${String(profile.last_limit)}.`,
    next: 'nothing: the phone sends again by itself; docs/configuration.md has the limits',
  }),
  no_put: ({ called }) => ({
    detail: `Its last call came ${called}.`,
    next: 'a proxy may refuse large bodies: mobility doctor --url https://…',
  }),
  nothing_stored: ({ name, rejected }) => ({
    detail: `${counted(rejected, 'entry is', 'entries are')} rejected.`,
    next: `mobility errors --user ${name}`,
  }),
  clock_ahead: ({ name, waiting, shown }) => {
    const next = `ask ${name} to set date and time of the phone to automatic; a run processes a pending entry only when its time has come`;
    const { next_due_ts: due, ahead } = waiting;
    if (due === null) return { next };
    return {
      detail: `The first of ${counted(ahead, 'entry', 'entries')} is due ${minuteText(due, shown.zone)}.`,
      next,
    };
  },
  encrypted: ({ name, rejected }) => ({
    detail: `${counted(rejected, 'message is', 'messages are')} rejected.`,
    next: `ask ${name} to remove the encryption key in the settings of the app; the connection is encrypted also without it (${phones})`,
  }),
  unknown_messages: ({ name, rejected }) => ({
    detail: `${counted(rejected, 'message is', 'messages are')} rejected.`,
    next: `ask ${name} to set up the app again as described (${phones}); mobility errors --user ${name} shows what the app sends`,
  }),
  misdated: ({ name }) => ({
    next: `ask ${name} to restart the phone under an open sky and to update the app: the GPS receiver reports a wrong year`,
  }),
  inexact: ({ name }) => ({
    next: `ask ${name} to switch on "Precise Location" for the app (on Android: "Use precise location") (${phones})`,
  }),
  no_location: ({ name, called }) => ({
    detail: `Its last call came ${called}.`,
    next: `ask ${name}: is location set to "always", the battery saver off, tracking on? (${phones}) No change on the server can help`,
  }),
  run_failed: ({ name, state: { last_error } }) => ({
    detail: String(last_error),
    // No run succeeds before disk space is free.
    next: last_error?.includes('MOBILITY_STORE_FULL')
      ? 'free space on the disk of the store; the next run continues by itself'
      : `mobility pipeline --user ${name} --debug`,
  }),
  run_stopped: ({ name, lease }) => ({
    detail: `Owner of the lease: ${lease?.owner ?? 'unknown'}.`,
    next: `the next run continues: mobility pipeline --user ${name}`,
  }),
  not_run: ({ name, waiting }) => ({
    detail: `${counted(waiting.count - waiting.ahead, 'entry is pending', 'entries are pending')}.`,
    next: `run the pipeline, and check that it runs regularly: mobility pipeline --user ${name}`,
  }),
  program_fault: ({ name, faults }) => ({
    detail: `${counted(faults, 'entry is', 'entries are')} rejected; nothing is lost.`,
    next: `mobility errors --user ${name} (after an update: mobility recover-errors --user ${name})`,
  }),
  set_aside: ({ name, rejected, profile: { client_app_version: app } }) => ({
    detail: `${counted(rejected, 'entry is', 'entries are')} rejected in all.${
      typeof app === 'string' ? ` The app has version ${oneLine(app)}: an old version may be the cause.` : ''
    }`,
    next: `mobility errors --user ${name}`,
  }),
};

export const countRejected = ({ set_aside }: Pick<PersonFigures, 'set_aside'>): number =>
  set_aside.reduce((sum, { count }) => sum + count, 0);

export const quotedName = (name: string): string =>
  /^[\w@.+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;

export const timeAndAge = (ts: number | null, { now, zone }: Shown): string =>
  ts === null ? 'never' : `${minuteText(ts, zone)} (${agoText(ts, now)})`;
