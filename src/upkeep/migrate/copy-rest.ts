// Everything else of a user from store to store: profile, documents, trips, the pipeline's state, and how they get in.
import type { JsonObject } from '../../model/json.ts';
import { justAfter } from '../../model/time.ts';
import type { TripRecord } from '../../model/trip.ts';
import type { TokenRecord, UserRecord } from '../../model/user.ts';
import { documentContent, fieldsContent, linkContent } from '../../store/content.ts';
import { everyLink } from '../../store/pages.ts';
import { type Document, initialPipelineState, type PipelineState, type Store } from '../../store/store.ts';
import { compare, type Tally } from './pairs.ts';
import { mending, toRemove, toWrite, type UserCopy } from './user-copy.ts';

/** A stream of what is there, for collections with few rows of a user. */
async function* few<Row>(read: () => Promise<readonly Row[]>): AsyncGenerator<Row> {
  yield* await read();
}

/** The same for one row or none. */
async function* one<Row>(read: () => Promise<Row | null>): AsyncGenerator<Row> {
  const row = await read();
  if (row !== null) yield row;
}

/** Tells whether the target has a profile, or fields of it, that the source has not: a merge cannot take them away. */
export async function profileHasMore({ userId, from, to }: UserCopy): Promise<boolean> {
  const [wanted, found] = await Promise.all([from.profiles.get(userId), to.profiles.get(userId)]);
  if (found === null) return false;
  return wanted === null || Object.keys(found).some((name) => !Object.hasOwn(wanted, name));
}

/** Copies the profile. */
export async function copyProfile(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const read = (store: Store) => one(() => store.profiles.get(userId));
  const sides = { source: read(from), target: read(to), place: () => 0, content: fieldsContent };
  const mend = mending<JsonObject>(copy, async (pairs) => {
    for (const fields of toWrite(pairs)) await to.profiles.merge(userId, fields);
  });
  return compare(sides, mend);
}

/** Copies documents with their `write_ts`. */
export async function copyDocuments(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sides = {
    source: documentsOf(from, userId),
    target: documentsOf(to, userId),
    place: ({ key }: Document) => key,
    content: documentContent,
  };
  const mend = mending<Document>(copy, (pairs, lease) =>
    to.documents.apply(userId, { put: toWrite(pairs), remove: toRemove(pairs).map(({ key }) => key) }, lease),
  );
  return compare(sides, mend);
}

/** Documents by key, in one order for all stores. */
async function* documentsOf(store: Store, userId: string): AsyncGenerator<Document> {
  for (const key of (await store.documents.keys(userId)).sort()) {
    const found = await store.documents.get(userId, key);
    if (found !== null) yield found;
  }
}

/** Copies the chain of trips. */
export async function copyTrips(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const sides = {
    source: everyLink(from, userId),
    target: everyLink(to, userId),
    place: ({ chain_ts }: TripRecord) => chain_ts,
    content: linkContent,
  };
  const mend = mending<TripRecord>(copy, (pairs, lease) => {
    const times = [pairs[0]!, pairs.at(-1)!].map(({ source, target }) => (source ?? target)!.chain_ts);
    const range = { from: times[0]!, to: justAfter(times[1]!) };
    const links = pairs.flatMap(({ source }) => source ?? []);
    return to.trips.replace(userId, range, links, {}, lease);
  });
  return compare(sides, mend);
}

const initialText = fieldsContent(initialPipelineState);

/** Copies where the pipeline stands. It comes last: every change of the timeseries marks something in it. */
export async function copyState(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  // The initial state counts as no row: the two cannot be distinguished.
  const read = (store: Store) =>
    one(async () => {
      const state = await store.pipeline.get(userId);
      return fieldsContent(state) === initialText ? null : state;
    });
  const sides = { source: read(from), target: read(to), place: () => 0, content: fieldsContent };
  const mend = mending<PipelineState>(copy, ([pair], lease) =>
    to.pipeline.merge(userId, pair!.source ?? initialPipelineState, lease),
  );
  return compare(sides, mend);
}

/** Copies tokens, by hash. */
export async function copyTokens(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const byHash = (a: TokenRecord, b: TokenRecord): number => (a.hash < b.hash ? -1 : 1);
  const read = (store: Store) => few(async () => (await store.tokens.list(userId)).sort(byHash));
  const sides = {
    source: read(from),
    target: read(to),
    place: ({ hash }: TokenRecord) => hash,
    content: fieldsContent,
  };
  const mend = mending<TokenRecord>(copy, async (pairs) => {
    for (const { hash } of toRemove(pairs)) await to.tokens.remove(userId, hash);
    for (const token of toWrite(pairs)) await to.tokens.add(token);
  });
  return compare(sides, mend);
}

/** Copies the record in the registry, with its `update_ts`. From then on, others see the user. */
export async function copyRecord(copy: UserCopy): Promise<Tally> {
  const { userId, from, to } = copy;
  const read = (store: Store) => one(() => store.users.byUuid(userId));
  const sides = { source: read(from), target: read(to), place: () => 0, content: fieldsContent };
  const mend = mending<UserRecord>(copy, async (pairs) => {
    for (const { user_email, update_ts, ...kept } of toWrite(pairs)) {
      await to.users.register(user_email, { ...kept, now: update_ts });
    }
  });
  return compare(sides, mend);
}
