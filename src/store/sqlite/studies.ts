// Studies and how people join them; in the file of the registry.
import { newUuid } from '../../model/ids.ts';
import type { JsonValue } from '../../model/json.ts';
import { jsonText } from '../../model/json-text.ts';
import { admit, nobodyJoined, type StudyRecord } from '../../model/study.ts';
import type { Studies } from '../store.ts';
import { soundRow } from './damaged.ts';
import type { StoreFile } from './file.ts';
import { insertToken, insertUser, registering, tokenBy, userBy } from './people.ts';
import { columnsOf, type SummedRow, sealRow } from './row-sums.ts';
import type { Shards } from './rows.ts';

interface StudyRow extends SummedRow {
  settings: string;
  joined: string;
}

const columns = columnsOf('studies');

const studyOf = (file: StoreFile, row: StudyRow): StudyRecord =>
  soundRow(file, 'studies', row, ({ settings, joined }) => ({ ...JSON.parse(settings), joined: JSON.parse(joined) }));

function studyBy(file: StoreFile, name: string): StudyRecord | null {
  const row = file.sql(`SELECT ${columns} FROM studies WHERE name = ?`).get<StudyRow>(name);
  return row === undefined ? null : studyOf(file, row);
}

/** Studies and how many people joined them, in the first shard. */
export function studies(shards: Shards): Studies {
  const file = shards.first.usercache;
  const count = (name: string, joined: object): void => {
    file.sql('UPDATE studies SET joined = ? WHERE name = ?').run(JSON.stringify(joined), name);
    sealRow(file, 'studies', 'name = ?', name);
  };
  return {
    put: async (settings, joined) => {
      // Taken at once: what the caller does to the object later has no effect.
      const text = jsonText(settings as unknown as JsonValue);
      await file.write(() => {
        const sql =
          'INSERT INTO studies (name, settings, joined) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET settings = excluded.settings';
        file.sql(sql).run(settings.name, text, JSON.stringify(nobodyJoined));
        if (joined !== undefined) count(settings.name, joined);
        else sealRow(file, 'studies', 'name = ?', settings.name);
      });
    },
    byName: async (name) => file.read(() => studyBy(file, name)),
    list: async () =>
      file.read(() => {
        const rows = file.sql(`SELECT ${columns} FROM studies ORDER BY name`).all<StudyRow>();
        return rows.map((row) => studyOf(file, row));
      }),
    enrol: async ({ study, subgroup, email, token, now, byOperator = false }) => {
      const user = { uuid: newUuid(), user_email: email, update_ts: now, study, subgroup };
      return registering(shards, { uuid: user.uuid, isNew: true }, () => {
        const known = tokenBy(file, token.hash);
        if (known !== null) {
          const owner = userBy(file, 'uuid', known.user_id);
          return owner === null ? { refused: 'token_taken' } : { known: owner };
        }
        const admission = admit(studyBy(file, study), { subgroup, now, byOperator });
        if ('refused' in admission) return admission;
        if (userBy(file, 'user_email', email) !== null) return { refused: 'name_taken' };
        insertUser(file, user);
        insertToken(file, { ...token, user_id: user.uuid });
        count(study, admission.joined);
        return { enrolled: user };
      });
    },
  };
}
