// Remembers study tokens whose owners were erased. Their apps try by themselves to join the study again with the same
// token, which must fail.
import type { Engine, Rows, WritableRows } from '../rows/rows.ts';
import { erasedTokens, people, tokens } from '../rows/tables.ts';
import type { Studies } from '../store.ts';

/** The part of a token's hash that is kept: 64 bits of SHA-256. The token cannot be derived from it. */
const prefixOf = (hash: string): string => hash.slice(0, 16);

/** Stores the prefixes of the study tokens of a user who is being erased, without the user and without a time. */
export async function keepErasedTokens(rows: WritableRows, user: string): Promise<void> {
  const [person] = await rows.find(people, { where: { uuid: user } });
  if (person?.study == null) return;
  const { study } = person;
  const own = (await rows.find(tokens, { where: { user } })).filter(({ kind }) => kind === 'study' || kind === null);
  await rows.put(
    erasedTokens,
    own.map(({ hash }) => ({ study, token: prefixOf(hash) })),
  );
}

/** True if the token belonged to the study and its owner was erased. */
export async function isErasedToken(rows: Rows, study: string, hash: string): Promise<boolean> {
  return (await rows.total(erasedTokens, { study, token: prefixOf(hash) })) > 0;
}

export function erasedTokenMethods(engine: Engine): Pick<Studies, 'hasErased' | 'readmit'> {
  return {
    hasErased: (study, hash) => engine.read((rows) => isErasedToken(rows, study, hash)),
    readmit: (study, hash) =>
      engine.write(null, async (rows) => {
        const isListed = await isErasedToken(rows, study, hash);
        await rows.remove(erasedTokens, { study, token: prefixOf(hash) });
        return isListed;
      }),
  };
}
