// `mobility status`: where one user stands, or everybody at a glance.
import { Command } from 'commander';
import { oneLine } from '../../log/text.ts';
import { isMobilityError } from '../../model/errors.ts';
import type { JsonObject } from '../../model/json.ts';
import { keys } from '../../model/keys.ts';
import { addDays, localDay } from '../../model/time.ts';
import type { UserRecord } from '../../model/user.ts';
import { everyUser } from '../../store/pages.ts';
import type { Lease, PipelineState, Store } from '../../store/store.ts';
import type { CommandContext, Outcome } from '../context.ts';
import { counted, table } from '../output.ts';
import { agoText, distanceText, errorKeyText, minuteText } from '../wording.ts';

/** Everything the store knows about where a user stands. Times are seconds since the epoch. */
interface UserStatus extends UserRecord {
  waiting: { count: number; oldest_ts: number | null; newest_ts: number | null };
  /** Waiting entries whose `write_ts` lies ahead: they are processed when that time has come. */
  ahead: { count: number; first_ts: number | null };
  errors: { key: string | null; reason: string; count: number }[];
  timeseries: { key: string; count: number; first_ts: number | null; last_ts: number | null }[];
  pipeline: PipelineState;
  lease: Lease | null;
  trips: { count: number; start_ts: number | null; end_ts: number | null; recent: RecentDay[] };
  documents: { count: number; newest_key: string | null; newest_write_ts: number | null };
  tokens: number;
  /** The limit that the caller met last, and when; null: none. */
  limit_met: { limit: string; ts: number } | null;
}

interface RecentDay {
  day: string;
  trips: number;
  /** m */
  distance: number;
}

/** Shows the state of one user, or of the whole store. */
export function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .description('show the state of one user or of the whole store')
    .option('--user <name>', 'name or UUID of the user')
    .addHelpText('after', '\nExamples:\n  mobility status\n  mobility status --user ada@example.org --json')
    .action(
      context.run(async ({ user }: { user?: string }): Promise<Outcome> => {
        if (user === undefined) return showEverybody(context);
        const status = await statusOf(await context.store(), await context.findUser(user), context.now());
        await context.output.result(status, () => statusText(status, context));
        return {};
      }),
    );
}

// ---------------------------------------------------------------- one user

async function statusOf(store: Store, user: UserRecord, now: number): Promise<UserStatus> {
  const { uuid } = user;
  const [waiting, ahead, errors, timeseries, pipeline, lease, trips, documents, tokens, profile] = await Promise.all([
    store.usercache.summary(uuid),
    store.usercache.ahead(uuid, now),
    store.errors.summary(uuid),
    store.timeseries.summary(uuid),
    store.pipeline.get(uuid),
    store.leases.get(uuid),
    store.trips.summary(uuid),
    store.documents.list(uuid),
    store.tokens.list(uuid),
    store.profiles.get(uuid),
  ]);
  const newest = documents.at(-1);
  return {
    ...user,
    waiting,
    ahead,
    errors,
    timeseries,
    pipeline,
    lease,
    trips: { ...trips, recent: await recentDays(store, uuid, trips.end_ts) },
    documents: {
      count: documents.length,
      newest_key: newest?.key ?? null,
      newest_write_ts: newest?.write_ts ?? null,
    },
    tokens: tokens.length,
    limit_met: limitMet(profile),
  };
}

/** What the server noted when the caller met a limit of one caller. */
function limitMet(profile: JsonObject | null): UserStatus['limit_met'] {
  const { last_limit: limit, last_limit_ts: ts } = profile ?? {};
  return typeof limit === 'string' && typeof ts === 'number' ? { limit, ts } : null;
}

/** The last seven days with trips, at most eight days before the newest trip. */
async function recentDays(store: Store, userId: string, lastTs: number | null): Promise<RecentDay[]> {
  if (lastTs === null) return [];
  const last = localDay(lastTs, 'UTC');
  const records = await store.trips.byDay(userId, { from: addDays(last, -7), to: addDays(last, 1) });
  const days = new Map<string, RecentDay>();
  for (const { day, trip } of records) {
    const known = days.get(day) ?? { day, trips: 0, distance: 0 };
    days.set(day, { day, trips: known.trips + 1, distance: known.distance + (trip?.distance ?? 0) });
  }
  return [...days.values()].slice(-7);
}

function statusText(status: UserStatus, context: CommandContext): string {
  const when = (ts: number | null): string =>
    ts === null ? 'never' : `${minuteText(ts, context.zone)} (${agoText(ts, context.now())})`;
  const { waiting, ahead, pipeline, lease, trips, documents } = status;
  const rows = [
    ['user', `${status.user_email}  ${status.uuid}`],
    ['updated', when(status.update_ts)],
    ['tokens', String(status.tokens)],
    ['waiting', waitingText(waiting, when)],
    ...(ahead.count === 0 ? [] : [['ahead', aheadText(ahead, when)]]),
    ['errors', errorsText(status.errors)],
    ...(status.limit_met === null ? [] : [['limit met', `${status.limit_met.limit}, ${when(status.limit_met.ts)}`]]),
    ['last location', when(lastLocation(status))],
    ['last run', when(pipeline.last_run_ts)],
    ...(pipeline.last_error === null ? [] : [['failed', pipeline.last_error]]),
    ['at work', lease === null ? 'nobody' : `${lease.owner}, until ${when(lease.expires_ts)}`],
    ['to analyse', pipeline.changed === null ? 'nothing' : `from ${when(pipeline.changed.from)} on`],
    ['final until', when(pipeline.complete_until)],
    ['trips', tripsText(trips, when)],
    ...trips.recent.map((day) => ['', `${day.day}  ${counted(day.trips, 'trip')}, ${distanceText(day.distance)}`]),
    [
      'documents',
      documents.count === 0
        ? 'none'
        : `${documents.count}, newest ${documents.newest_key} of ${when(documents.newest_write_ts)}`,
    ],
  ];
  const series = status.timeseries.map((row) => [
    `  ${row.key}`,
    String(row.count),
    row.last_ts === null ? '' : when(row.last_ts),
  ]);
  const long = series.length === 0 ? '' : `\n\nTIMESERIES\n${table(series, [1])}`;
  return table(rows) + long;
}

function lastLocation({ timeseries }: UserStatus): number | null {
  return timeseries.find((row) => row.key === keys.location)?.last_ts ?? null;
}

function waitingText(
  { count, oldest_ts, newest_ts }: UserStatus['waiting'],
  when: (ts: number | null) => string,
): string {
  if (count === 0) return 'nothing';
  const [oldest, newest] = [when(oldest_ts), when(newest_ts)];
  return `${counted(count, 'entry', 'entries')}, written ${oldest === newest ? oldest : `${oldest} to ${newest}`}`;
}

/** The phone's clock was ahead: what it wrote then counts from the time that it claims. */
function aheadText({ count, first_ts }: UserStatus['ahead'], when: (ts: number | null) => string): string {
  return (
    `${counted(count, 'entry', 'entries')} of these claim a write time more than a day after they were received: ` +
    `a clock was ahead; they are processed when that time has come, the first ${when(first_ts)}`
  );
}

function errorsText(errors: UserStatus['errors']): string {
  if (errors.length === 0) return 'none';
  const total = errors.reduce((sum, { count }) => sum + count, 0);
  const parts = errors.map(({ key, reason, count }) => `${count} × ${errorKeyText(key)}: ${oneLine(reason)}`);
  return `${total}: ${parts.join('; ')}`;
}

function tripsText({ count, start_ts, end_ts }: UserStatus['trips'], when: (ts: number | null) => string): string {
  return count === 0 ? 'none' : `${count}, from ${when(start_ts)} to ${when(end_ts)}`;
}

// ---------------------------------------------------------------- everybody

interface FleetStatus {
  store: string;
  users: number;
  waiting: number;
  /** Of those that wait: they claim to have been written more than a day after they were received. */
  ahead: number;
  errors: number;
  trips: number;
  /** Users with entries or changes that the pipeline has not seen. */
  with_work: number;
  /** Users with a row that cannot be read, and what was found. */
  damaged: { user_email: string; uuid: string; message: string }[];
  /** Users whose last run failed. */
  failed: { user_email: string; uuid: string; last_error: string }[];
  /** Users who met a limit of one caller within the last day. */
  limits_met: { user_email: string; uuid: string; limit: string; ts: number }[];
  /** Rows whose owner is not registered, and how many owners that are. */
  unowned: { users: number; rows: number };
  /** Users in somebody's hands now. */
  at_work: { user_email: string; uuid: string; owner: string; expires_ts: number }[];
}

async function showEverybody(context: CommandContext): Promise<Outcome> {
  const store = await context.store();
  const fleet: FleetStatus = {
    store: store.address,
    users: 0,
    waiting: 0,
    ahead: 0,
    errors: 0,
    trips: 0,
    with_work: 0,
    damaged: [],
    failed: [],
    limits_met: [],
    unowned: { users: 0, rows: 0 },
    at_work: [],
  };
  const progress = context.output.progress('counting');
  try {
    for await (const user of everyUser(store)) {
      await addUser(fleet, store, user, context.now()).catch((error) => {
        if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
        const { user_email, uuid } = user;
        fleet.damaged.push({ user_email, uuid, message: error.message });
      });
      progress.update(counted(fleet.users, 'user'));
    }
    for (const { rows } of await store.unowned()) {
      fleet.unowned.users += 1;
      fleet.unowned.rows += rows;
    }
  } finally {
    progress.done();
  }
  await context.output.result(fleet, () => fleetText(fleet, context));
  return {};
}

async function addUser(fleet: FleetStatus, store: Store, { uuid, user_email }: UserRecord, now: number): Promise<void> {
  const [counts, trips, state, lease, work, ahead, profile] = await Promise.all([
    store.counts(uuid),
    store.trips.summary(uuid), // rows of `trips` are other links too, such as those that were dropped
    store.pipeline.get(uuid),
    store.leases.get(uuid),
    store.pipeline.withWork([uuid], now),
    store.usercache.ahead(uuid, now),
    store.profiles.get(uuid),
  ]);
  const met = limitMet(profile);
  if (met !== null && met.ts > now - 86_400) fleet.limits_met.push({ user_email, uuid, ...met });
  fleet.users += 1;
  fleet.waiting += counts.usercache;
  fleet.ahead += ahead.count;
  fleet.errors += counts.errors;
  fleet.trips += trips.count;
  fleet.with_work += work.size;
  if (state.last_error !== null) fleet.failed.push({ user_email, uuid, last_error: state.last_error });
  if (lease !== null) fleet.at_work.push({ user_email, uuid, owner: lease.owner, expires_ts: lease.expires_ts });
}

function unownedText({ users, rows }: FleetStatus['unowned']): string {
  return `${counted(rows, 'row')} of ${counted(users, 'user')} who are not registered: see mobility store purge-unowned`;
}

function fleetText(fleet: FleetStatus, context: CommandContext): string {
  const rows = [
    ['store', fleet.store],
    ['users', `${fleet.users}, ${fleet.with_work} with new data for the pipeline`],
    ['waiting', counted(fleet.waiting, 'entry', 'entries')],
    ...(fleet.ahead === 0
      ? []
      : [['ahead', `${counted(fleet.ahead, 'entry', 'entries')} written by clocks that were ahead`]]),
    ['errors', String(fleet.errors)],
    ['trips', String(fleet.trips)],
    ...(fleet.unowned.rows === 0 ? [] : [['unowned', unownedText(fleet.unowned)]]),
    ...fleet.at_work.map(({ user_email, owner, expires_ts }) => [
      'at work',
      `${user_email}: ${owner}, until ${minuteText(expires_ts, context.zone)}`,
    ]),
    ...fleet.limits_met.map(({ user_email, limit }) => ['limit met', `${user_email}: ${limit}`]),
    ...fleet.damaged.map(({ user_email, message }) => ['damaged', `${user_email}: ${message}`]),
    ...fleet.failed.map(({ user_email, last_error }) => ['failed', `${user_email}: ${last_error}`]),
  ];
  return table(rows);
}
