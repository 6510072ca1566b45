// Every word of the pages in English. Another language is a file of the same shape, listed in `texts.ts`.
import { clockText, distanceText, durationText } from '../../diary/day-words.ts';
import type { UnobservedReason } from '../../diary/observed-time.ts';
import { plainMode } from '../../model/plain-mode.ts';
import { formatForPeople, startOfDay } from '../../model/time.ts';

const noon = (day: string): number => startOfDay(day, 'UTC') + 43_200;
const many = (count: number, one: string, others = `${one}s`): string =>
  `${count.toLocaleString('en-US')} ${count === 1 ? one : others}`;

const notRecorded: Record<UnobservedReason, string> = {
  'tracking off': 'Location was switched off on your phone.',
  'no permission': 'The app was no longer allowed to see your location.',
  'phone off': 'Your phone was off or had no power.',
  silent: 'Your phone sent nothing, and did not say why.',
  'nothing received': 'Nothing has arrived yet. Your phone sends it with its next contact.',
  'before the first location': 'This was before the first location of your phone.',
  'before joining': 'This was before you joined.',
  'after leaving': 'This was after you left.',
  'clock wrong': 'The clock of your phone was wrong.',
  'not yet': 'This is still to come.',
  'taken out': 'Taken out by you or by the study.',
};

const modes: Record<string, string> = {
  walking: 'on foot',
  bicycling: 'bicycle',
  bus: 'bus',
  car: 'car',
  train: 'train',
  tram: 'tram',
  subway: 'underground',
  light_rail: 'light rail',
  air: 'plane',
  vehicle: 'motor vehicle',
  other: 'something else',
};
const sections: Record<string, string> = {
  ...{ walking: 'Walk', bicycling: 'Bicycle', bus: 'Bus', car: 'Car', train: 'Train', tram: 'Tram' },
  ...{
    subway: 'Underground',
    light_rail: 'Light rail',
    air: 'Plane',
    vehicle: 'Motor vehicle',
    other: 'Something else',
  },
};

/** The English words. */
export const en = {
  language: 'en',

  // ---------------------------------------------------------------- numbers and times
  length: distanceText,
  /** Lengths of scales: 500 m, 2 km. */
  roundLength: (metres: number): string => (metres < 1000 ? `${metres} m` : `${metres / 1000} km`),
  /** km where the unit is known. */
  km: (metres: number): string => (metres < 50 ? '0' : (metres / 1000).toFixed(metres < 99_950 ? 1 : 0)),
  span: (seconds: number): string => (seconds < 60 ? 'under 1 min' : durationText(seconds).replace(/ 00 min$/, '')),
  clock: clockText,
  share: (part: number): string => `${Math.round(part * 100)} %`,
  day: (day: string): string => formatForPeople(noon(day), 'UTC', 'dddd D MMMM'),
  shortDay: (day: string): string => formatForPeople(noon(day), 'UTC', 'ddd D MMM'),
  weekday: (day: string): string => formatForPeople(noon(day), 'UTC', 'ddd'),
  date: (ts: number, zone: string): string => formatForPeople(ts, zone, 'D MMMM YYYY'),
  moment: (ts: number, zone: string): string => formatForPeople(ts, zone, 'D MMMM, HH:mm'),
  weekdayAndClock: (ts: number, zone: string): string => formatForPeople(ts, zone, 'dddd HH:mm'),
  /** A time of today as 23:31, of this week as Mon 16:08, older as 19 Nov. */
  lately: (ts: number, now: number, zone: string): string =>
    formatForPeople(ts, zone, now - ts < 43_200 ? 'HH:mm' : now - ts < 6 * 86_400 ? 'ddd HH:mm' : 'D MMM'),
  days: (count: number): string => many(count, 'day'),
  entries: (count: number): string => many(count, 'record'),
  trips: (count: number): string => many(count, 'trip'),
  people: (count: number): string => many(count, 'person', 'people'),

  // ---------------------------------------------------------------- every page
  service: 'Travel diary',
  skip: 'Skip to the content',
  pages: 'Pages',
  signOut: 'Sign out',
  error: 'Error:',
  cancel: 'Cancel',
  faults: {
    400: { title: 'This did not work', text: 'The page sent something that the server does not understand.' },
    403: { title: 'This is not allowed', text: 'Open the page again and repeat what you did. Nothing was changed.' },
    404: { title: 'There is no page here', text: 'Perhaps the address was cut off.' },
    413: { title: 'This is too long', text: 'Nothing was changed.' },
    429: { title: 'Too many tries', text: 'Try again in 15 minutes.' },
    500: {
      title: 'The server could not do this',
      text: 'Nothing was changed. Try again; if it fails twice, tell the people of the study.',
    },
  } as Record<number, { title: string; text: string }>,
  request: (id: string): string => `Number of this request: ${id}`,
  toStart: 'To the first page',

  // ---------------------------------------------------------------- the first page
  home: {
    title: 'A travel diary that stays with your study',
    lead: 'Phones of the people who take part record where they go. This server turns it into a diary of trips.',
    me: 'I take part',
    meText: 'Look at your days, correct them, and see what is stored of you.',
    meLink: 'My days',
    join: 'I want to take part',
    joinText: 'These studies let people join now:',
    joinNone: 'Ask the people of your study for an invitation.',
    manage: 'I run a study',
    manageText: 'See who takes part and who needs a word from you.',
    manageLink: 'Sign in',
  },

  // ---------------------------------------------------------------- signing in
  signIn: {
    title: 'Open your days with your link',
    text: 'Your days are behind a link of your own. The people of the study send it, or print it as a code to scan. It works once; this browser then remembers you.',
    already: 'Opened here before?',
    again: 'Go to my days',
    linkTitle: 'Open your days',
    linkText: (name: string): string => `This link shows the days of ${name}. It works once, on this device.`,
    linkWarning: 'Do not open it on a device that others use.',
    open: 'Open my days',
    gone: 'This link is no longer valid',
    goneText: 'It was used before, or is too old. Ask the people of the study for a new one.',
    signedOut: 'You are signed out on this device.',
    managers: 'Sign in',
    managersText: 'For the people who run a study. The operator of this server makes the accounts.',
    name: 'Name',
    password: 'Password',
    submit: 'Sign in',
    wrong:
      'Name or password is wrong, or there were too many tries. After five wrong tries nobody gets in for 15 minutes.',
    chooseStudy: 'Your studies',
    noStudy: 'No study is assigned to your account yet. Ask the operator of this server.',
  },

  operator: { title: 'This server' },

  // ---------------------------------------------------------------- my days
  me: {
    days: 'My days',
    month: 'Month',
    data: 'My data',
    title: 'My days',
    week: 'Days of this week',
    dayInWords: (day: string, km: string, recorded: string): string => `${en.day(day)}, ${km}, ${recorded} recorded`,
    onTheWay: (trips: string, length: string): string => `${trips}, ${length}`,
    spentOnTheWay: (span: string): string => `, ${span} on the way.`,
    noTrips: 'No trips.',
    atAllDay: (place: string): string => `${place} all day.`,
    recorded: (seen: string, of: string, share: string): string => `Recorded: ${seen} of ${of} (${share}).`,
    zone: (zones: string): string => `Times are those of ${zones}.`,
    final: 'This day is final.',
    draft: 'Draft: data is still coming in, so this may change.',
    future: 'This day is still to come.',
    empty: 'Your first day appears about an hour after your first trip.',
    list: 'The day in order',
    map: 'Map',
    bar: (parts: string): string => `The 24 hours of the day: ${parts}. The list tells the same.`,
    mapInWords: (places: string): string => `Map of the day. ${places} The list tells the same.`,
    ringsOf: (place: string): string => `Rings: distance from ${place}.`,
    north: 'N',
    compass: ['north', 'north-east', 'east', 'south-east', 'south', 'south-west', 'west', 'north-west'],
    isFrom: (place: string, length: string, where: string, from: string): string =>
      `${place} is ${length} ${where} of ${from}.`,
    place: (letter: string): string => `Place ${letter}`,
    here: (place: string): string => `At ${place}`,
    since: (when: string): string => `Here since ${when}`,
    untilNow: 'Until now',
    untilEnd: 'Until the end of the day',
    trip: (place: string): string => `To ${place}`,
    roundTrip: (place: string): string => `Round trip from ${place}`,
    byMode: (mode: string, place: string): string => `${mode} to ${place}`,
    waited: 'Waited',
    estimated: (length: string): string => `${length} of it estimated`,
    beganOn: (when: string): string => `Began on ${when}`,
    yourLabel: (words: string): string => `Your label: ${words}`,
    notRecorded: 'Not recorded',
    between: (place: string): string => `You were at ${place} before and after.`,
    reasons: notRecorded,
    inBar: { not: 'not recorded', trip: (mode: string): string => `trip, ${mode}` },
    mode: (sensedMode: string): string => modes[plainMode(sensedMode)] ?? modes.other!,
    section: (sensedMode: string): string => sections[plainMode(sensedMode)] ?? sections.other!,
    onlyYou: 'Only you can see this page. The people of the study see your days without your name.',
    onlyYouNamed: 'Only you and the people who run the study can see your days.',
    correct: 'Correct',
    correctWhat: ' this trip',
    how: 'How did you travel?',
    what: 'What was this trip for?',
    unsaid: 'not said',
    save: 'Save',
    promise: 'What was recorded stays as it is; your answer is kept beside it.',
    saved: 'Saved.',
    first: (day: string): string => `The first day is ${day}`,
    latest: 'The latest day',
  },

  // ---------------------------------------------------------------- my data
  mine: {
    title: 'My data',
    lead: 'What this server keeps of you, and what you can do about it.',
    stored: 'What is stored',
    account: 'Your name here',
    study: 'Study',
    joined: 'Joined',
    records: 'Records of your phone',
    recordsText: (count: string, from: string, to: string): string => `${count}, from ${from} to ${to}`,
    none: 'none yet',
    aside: 'Records that could not be read',
    trips: 'Trips',
    kinds: 'Kinds of records',
    kind: {
      location: 'locations',
      motion: 'movements',
      transition: 'starts and stops of recording',
      battery: 'battery',
    },
    otherKind: 'answers, settings and others',
    browsers: 'Where you are signed in',
    browser: (since: string): string => `A browser, since ${since}`,
    thisBrowser: 'This browser',
    signOutOthers: 'Sign out all others',
    othersOut: 'All other browsers are signed out.',
    download: 'Take it with you',
    downloadText: 'All records as your phone sent them, and your trips as a map file (GeoJSON).',
    downloadRecords: 'Records (JSON lines)',
    downloadTrips: 'Trips (GeoJSON)',
    phone: 'Your phone',
    stop: 'Stop recording',
    stopText:
      'From then on this server takes nothing more from your phones. What is stored stays until you have it erased. To begin again, ask the people of the study.',
    stopDo: 'Stop recording',
    stopped: 'Stopped. This server takes nothing more from your phones.',
    isStopped: 'Stopped: this server takes nothing from your phones.',
    erase: 'Have everything erased',
    eraseText:
      'All records, trips and answers are removed for good, and your name with them. The people who run this server do it, as a rule within a few days.',
    eraseWord: 'erase',
    eraseType: (word: string): string => `Type “${word}” to ask for it`,
    eraseWrong: (word: string): string => `Type the word “${word}”. Nothing was changed.`,
    eraseDo: 'Ask for erasure',
    eraseAsked: (when: string): string => `You asked on ${when} to have everything erased.`,
    eraseUndo: 'Keep my data after all',
    eraseKept: 'Your data is kept.',
  },

  /** Labels as the app writes them, and their words. */
  labelModes: {
    ...{ walk: 'On foot', bike: 'Bicycle', 'e-bike': 'E-bike', bikeshare: 'Shared bicycle', scootershare: 'Scooter' },
    ...{ drove_alone: 'Car, alone', shared_ride: 'Car, with others', taxi: 'Taxi', bus: 'Bus', train: 'Train or tram' },
    ...{ free_shuttle: 'Shuttle', air: 'Plane', not_a_trip: 'This was no trip', other: 'Something else' },
  } as Record<string, string>,
  labelPurposes: {
    ...{ home: 'Going home', work: 'Going to work', at_work: 'Trip at work', school: 'School or study' },
    ...{ transit_transfer: 'Changing vehicles', shopping: 'Shopping', meal: 'Meal', personal_med: 'Doctor or errand' },
    ...{ pick_drop_person: 'Bringing or fetching somebody', pick_drop_item: 'Bringing or fetching something' },
    ...{ access_recreation: 'Way to a free-time activity', exercise: 'Exercise', entertainment: 'Going out, friends' },
    ...{ religious: 'Religious or community', other: 'Something else' },
  } as Record<string, string>,
};
