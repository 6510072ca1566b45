/** The time when each step last succeeded. Each step needs the previous steps. */
export interface Steps {
  registered: StepTime;
  joined: StepTime; // the person used a study's link; people whom an operator registers do not join
  called: StepTime; // a call with a valid token; calls that only read are known to the hour
  pushed: StepTime; // a put whose entries were all stored; `phone_ts`: its newest `write_ts`
  stored: StepTime; // a put with entries
  located: StepTime; // a put with a location; `phone_ts`: data time of the newest location
  moved: StepTime; // a run moved pending entries
  converted: StepTime; // a converter accepted an entry
  analysed: StepTime; // the last run, if it succeeded; `phone_ts`: time of the newest data
  final: StepTime; // the diary is final up to `phone_ts`
  fetched: StepTime; // a phone or a page fetched days or trips; known to the hour
}

/** The server's time of the last success, and a time of the phone's data; null: not known. */
export type StepTime = { ts: number | null; phone_ts?: number | null };

/** A step, named by its field in `Steps`. */
export type StepName = keyof Steps;

/**
 * `refused`: the server refuses the calls, and the phone pushed nothing since.
 * `unusable`: the phone pushes, but no entry is usable for trips.
 * `never_began`: no entry was ever stored. `silent`: no call for days.
 * `without_locations`: calls, but no location for days.
 * `behind`: entries have been pending for long, or runs fail.
 * `stopped`: the person ended the recording.
 */
export type PersonState =
  | 'in_order'
  | 'silent'
  | 'without_locations'
  | 'never_began'
  | 'refused'
  | 'unusable'
  | 'behind'
  | 'stopped';

export type BreakageCode = keyof typeof breakages;

/** `remedies.ts` has further texts for operators, `web/pages/texts/` for managers. */
export const breakages = {
  damaged: { step: 'registered', state: 'behind', text: 'A row of the store cannot be read.' },
  unfinished: {
    step: 'registered',
    state: 'behind',
    text: 'An erasure, or a copy from another store, has begun and not ended.',
  },
  stopped: { step: 'joined', state: 'stopped', text: 'The person stopped the recording on their page.' },
  no_token: { step: 'joined', state: 'refused', text: 'The account has no valid token.' },
  never_called: { step: 'called', state: 'never_began', text: 'No call of the phone ever arrived.' },
  refused: { step: 'called', state: 'refused', text: 'The phone sends a token that is refused.' },
  silent: { step: 'called', state: 'silent', text: 'The phone has stopped calling.' },
  limited: {
    step: 'pushed',
    state: 'without_locations',
    text: 'The phone exceeds a limit for one caller, and pushed nothing since.',
  },
  no_put: { step: 'pushed', state: 'without_locations', text: 'The phone calls but pushes nothing.' },
  nothing_stored: { step: 'stored', state: 'without_locations', text: 'Puts arrive without new entries.' },
  clock_ahead: {
    step: 'stored',
    state: 'without_locations',
    text: "The phone's clock is more than a day ahead: its entries are pending until that time.",
  },
  encrypted: {
    step: 'stored',
    state: 'unusable',
    text: 'The app encrypts its messages with a key that this server does not have.',
  },
  unknown_messages: {
    step: 'stored',
    state: 'unusable',
    text: 'The app sends messages of another form: they lack the fields that say what they are.',
  },
  misdated: {
    step: 'located',
    state: 'unusable',
    text: 'The times of the locations are wrong, for example more than a day after the phone wrote them.',
  },
  inexact: {
    step: 'located',
    state: 'unusable',
    text: 'All locations are approximate: none is exact to 200 m, as trips need.',
  },
  no_location: { step: 'located', state: 'without_locations', text: 'The phone pushes, but no locations.' },
  run_failed: { step: 'moved', state: 'behind', text: 'The last run failed.' },
  run_stopped: { step: 'moved', state: 'behind', text: 'A run was killed before its end.' },
  not_run: { step: 'moved', state: 'behind', text: 'Entries are pending, and no run moves them.' },
  program_fault: {
    step: 'converted',
    state: 'behind',
    text: 'A converter of the program fails: its entries are rejected.',
  },
  set_aside: { step: 'converted', state: 'behind', text: 'Entries that trips are derived from are rejected.' },
} as const satisfies Record<string, { step: StepName; state: PersonState; text: string }>;
