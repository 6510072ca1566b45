// A check of a store through its interface: everything of everybody is read once. For engines that look after their
// pages themselves.
import { errorText, isMobilityError } from '../model/errors.ts';
import { type CheckOptions, type CheckReport, CheckTally, rowsText } from './check.ts';
import { documentContent, errorContent, fieldsContent, keptContent, linkContent, waitingContent } from './content.ts';
import { purgeRows, restoreDatabase } from './cures.ts';
import { entryPages, everyError, everyLink, everyUser } from './pages.ts';
import { type Collection, initialPipelineState, type Store } from './store.ts';

const pageSize = 500;

/** Reads everything of everybody, or of one user, and counts it. What cannot be read is a finding. */
export async function checkRows(store: Store, options: CheckOptions): Promise<CheckReport> {
  const tally = new CheckTally(options);
  const { userId, signal, onProgress } = options;
  let users = 0;
  let complete = true;
  // All of it is one server: what is in the way of one read is in the way of the others.
  await tally.attempt(store.address, async () => {
    for await (const user of everyUser(store)) {
      if (userId !== undefined && user.uuid !== userId) continue;
      if (signal?.aborted) complete = false;
      if (signal?.aborted) break;
      await checkUser(store, user.uuid, tally);
      tally.add(user.uuid, 'users');
      tally.digest(user.uuid, 'users', () => fieldsContent(user));
      users += 1;
      onProgress?.(`${users} users`);
    }
    if (complete && userId === undefined) await checkOwners(store, tally);
  });
  if (tally.unchecked.length > 0) complete = false;
  const checked = { pages: false, texts: complete, references: complete && userId === undefined };
  return tally.report({ store: store.address, complete, checked });
}

async function checkOwners(store: Store, tally: CheckTally): Promise<void> {
  for (const { user_id, rows } of await store.unowned()) {
    const what = `${rowsText(rows)} whose owner is not registered`;
    const cure = purgeRows;
    tally.find({ code: 'UNOWNED_ROWS', file: store.address, table: null, user_id, what, entries: rows, cure });
  }
}

async function checkUser(store: Store, uuid: string, tally: CheckTally): Promise<void> {
  const add = (collection: Collection, content: () => string): void => {
    tally.add(uuid, collection);
    tally.digest(uuid, collection, content);
  };
  const parts: Partial<Record<Collection, () => Promise<void>>> = {
    tokens: async () => {
      for (const token of await store.tokens.list(uuid)) add('tokens', () => fieldsContent(token));
    },
    profiles: async () => {
      const profile = await store.profiles.get(uuid);
      if (profile !== null) add('profiles', () => fieldsContent(profile));
    },
    usercache: () => checkWaiting(store, uuid, (row) => add('usercache', () => waitingContent(row))),
    errors: async () => {
      for await (const row of everyError(store, uuid)) add('errors', () => errorContent(row));
    },
    documents: async () => {
      for (const key of await store.documents.keys(uuid)) {
        const document = await store.documents.get(uuid, key);
        if (document !== null) add('documents', () => `${key}\n${documentContent(document)}`);
      }
    },
    timeseries: async () => {
      for (const { key } of await store.timeseries.summary(uuid)) {
        for await (const page of entryPages(store.timeseries, uuid, { keys: [key], time: 'write_ts' })) {
          for (const [i, entry] of page.entries.entries()) {
            add('timeseries', () => keptContent({ entry, received_ts: page.received_ts[i]! }));
          }
        }
      }
    },
    trips: async () => {
      for await (const link of everyLink(store, uuid)) add('trips', () => linkContent(link));
    },
    pipeline: async () => {
      const content = fieldsContent(await store.pipeline.get(uuid));
      if (content !== fieldsContent(initialPipelineState)) add('pipeline', () => content);
    },
  };
  for (const [name, look] of Object.entries(parts)) {
    try {
      await look();
    } catch (error) {
      if (isMobilityError(error) && !isMobilityError(error, 'MOBILITY_STORE_DAMAGED')) throw error;
      const cure = restoreDatabase;
      const finding = { file: store.address, table: name, user_id: uuid, what: errorText(error), cure };
      tally.find({ code: 'DAMAGED_ROW', ...finding });
    }
  }
}

async function checkWaiting(
  { usercache }: Store,
  uuid: string,
  look: (row: Awaited<ReturnType<Store['usercache']['read']>>[number]) => void,
): Promise<void> {
  let page = await usercache.read(uuid, { limit: pageSize });
  while (page.length > 0) {
    for (const row of page) look(row);
    const { key, write_ts } = page.at(-1)!.entry.metadata;
    page = await usercache.read(uuid, { after: { key, write_ts }, limit: pageSize });
  }
}
