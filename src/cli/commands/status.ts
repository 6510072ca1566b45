// `mobility status`: the state of one user or of the whole store.
import { Command } from 'commander';
import { shippedSegmenter } from '../../analysis/sequence/segment.ts';
import { isMobilityError } from '../../model/errors.ts';
import type { UserRecord } from '../../model/user.ts';
import { everyUser } from '../../store/pages.ts';
import type { PipelineState, Store, Unfinished } from '../../store/store.ts';
import type { CommandContext } from '../context.ts';
import { counted, table } from '../output.ts';
import { lastRefusal, limitMet, userStatus, userStatusText } from '../user-status.ts';
import { minuteText } from '../wording.ts';

/** Totals of the store, and the users who need a look. */
interface StoreStatus {
  store: string;
  users: number;
  waiting: number;
  errors: number;
  trips: number;
  /** Users with entries or changes that the pipeline has not seen. */
  with_work: number;
  /** Users whose trips are of another version of the analysis; the next run derives them again. */
  outdated: number;
  /** Users with a row that cannot be read, and the problem. */
  damaged: (Named & { message: string })[];
  /** Users whose last run failed. */
  failed: (Named & { last_error: string })[];
  /** Users who met a limit for one caller within the last day. */
  limits_met: (Named & { limit: string; ts: number })[];
  /** Users whose phone was refused within the last day and has pushed nothing since, with the token. */
  refused: (Named & { refusal: string; ts: number })[];
  /** Users whose erasure, or copy from another store, has begun and not ended. */
  unfinished: Unfinished[];
  /** Users whose lease a process holds now. */
  at_work: (Named & { owner: string; expires_ts: number })[];
}

type Named = Pick<UserRecord, 'user_email' | 'uuid'>;

/** Shows the state of one user, or of the whole store. */
export function statusCommand(context: CommandContext): Command {
  return new Command('status')
    .description('show the state of one user or of the whole store')
    .option('--user <name>', 'name or UUID of the user')
    .addHelpText('after', '\nExamples:\n  mobility status\n  mobility status --user ada@example.org --json')
    .action(
      context.run(async ({ user }: { user?: string }) => {
        if (user === undefined) return showStore(context);
        const status = await userStatus(await context.store(), await context.findUser(user), context.now());
        await context.output.result(status, () => userStatusText(status, context));
      }),
    );
}

/** Users read at the same time: the calls share their way to a store across a network. */
const pageSize = 50;

async function showStore(context: CommandContext): Promise<void> {
  const store = await context.store();
  const status: StoreStatus = {
    ...{ store: store.address, users: 0, waiting: 0, errors: 0, trips: 0, with_work: 0, outdated: 0 },
    ...{ damaged: [], failed: [], limits_met: [], refused: [], unfinished: [], at_work: [] },
  };
  const progress = context.output.progress('counting');
  try {
    let page: UserRecord[] = [];
    const addPage = async (): Promise<void> => {
      await addUsers(status, store, page, context.now());
      page = [];
      progress.update(counted(status.users, 'user'));
    };
    for await (const user of everyUser(store)) {
      page.push(user);
      if (page.length === pageSize) await addPage();
    }
    await addPage();
    status.unfinished = await store.unfinished();
  } finally {
    progress.done();
  }
  await context.output.result(status, () => statusText(status, context));
}

async function addUsers(status: StoreStatus, store: Store, users: readonly UserRecord[], now: number): Promise<void> {
  const ids = users.map(({ uuid }) => uuid);
  status.with_work += (await store.pipeline.withWork(ids, now, shippedSegmenter.version)).size;
  status.users += users.length;
  const added = users.map(async ({ user_email, uuid }) => {
    await addUser(status, store, { user_email, uuid }, now).catch((error) => {
      if (!isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      status.damaged.push({ user_email, uuid, message: error.message });
    });
  });
  await Promise.all(added);
}

/** Reads only what the counts say that the user has. */
async function addUser(status: StoreStatus, store: Store, named: Named, now: number): Promise<void> {
  const { uuid } = named;
  const counts = await store.counts(uuid);
  const [trips, state, lease, profile] = await Promise.all([
    counts.trips === 0 ? null : store.trips.summary(uuid), // other links, such as dropped movements, are rows too
    store.pipeline.get(uuid),
    store.leases.get(uuid),
    counts.profiles === 0 ? null : store.profiles.get(uuid),
  ]);
  status.waiting += counts.usercache;
  status.errors += counts.errors;
  status.trips += trips?.count ?? 0;
  const met = limitMet(profile);
  if (met !== null && met.ts > now - 86_400) status.limits_met.push({ ...named, ...met });
  const refused = lastRefusal(profile);
  const since = Math.max(now - 86_400, Number(profile?.last_put_ts ?? 0));
  if (refused !== null && refused.ts > since) status.refused.push({ ...named, ...refused });
  if (isOutdated(state)) status.outdated += 1;
  if (state.last_error !== null) status.failed.push({ ...named, last_error: state.last_error });
  if (lease !== null) status.at_work.push({ ...named, owner: lease.owner, expires_ts: lease.expires_ts });
}

const isOutdated = ({ analysis_version }: PipelineState): boolean =>
  analysis_version !== null && analysis_version !== shippedSegmenter.version;

const unfinishedWork = { erasing: '`mobility erase`', arriving: '`mobility migrate`' };

/** What to do before the next run derives trips again. */
function outdatedText(count: number): string {
  return `changed: the next run derives the trips of ${counted(count, 'user')} again; see before: \`mobility rebuild --all --dry-run\``;
}

function statusText(status: StoreStatus, { zone }: CommandContext): string {
  return table([
    ['store', status.store],
    ['users', `${status.users}, ${status.with_work} with work for the pipeline`],
    ...(status.outdated > 0 ? [['analysis', outdatedText(status.outdated)]] : []),
    ['waiting', counted(status.waiting, 'entry', 'entries')],
    ['errors', String(status.errors)],
    ['trips', String(status.trips)],
    ...status.unfinished.map(({ user_id, stage }) => [stage, `${user_id}: repeat the ${unfinishedWork[stage]}`]),
    ...status.at_work.map(({ user_email, owner, expires_ts }) => {
      return ['at work', `${user_email}: ${owner}, until ${minuteText(expires_ts, zone)}`];
    }),
    ...status.limits_met.map(({ user_email, limit }) => ['limit met', `${user_email}: ${limit}`]),
    ...status.refused.map(({ user_email, refusal }) => ['refused', `${user_email}: ${refusal}`]),
    ...status.damaged.map(({ user_email, message }) => ['damaged', `${user_email}: ${message}`]),
    ...status.failed.map(({ user_email, last_error }) => ['failed', `${user_email}: ${last_error}`]),
  ]);
}
