// Short numbers for users and keys, within one file.
import { escapeText, unescapeText } from '../../model/json-text.ts';
import { notAdmitted } from '../refusals.ts';
import type { StatementSource } from './driver.ts';

/** The number of a user in this file; null when it has nothing of them. */
export function userIn(file: StatementSource, userId: string): number | null {
  const known = file.users?.get(userId);
  if (known !== undefined) return known;
  const row = file.sql('SELECT id FROM user_ids WHERE uuid = ?').get<{ id: number }>(escapeText(userId));
  const user = row?.id ?? null;
  file.users?.set(userId, user);
  return user;
}

/** The number of a user in this file, given now if need be. Inside `write` only. */
export function userFor(file: StatementSource, userId: string): number {
  const known = userIn(file, userId);
  if (known !== null) return known;
  const sql = 'INSERT INTO user_ids (uuid) VALUES (?) RETURNING id';
  return file.sql(sql).get<{ id: number }>(escapeText(userId))!.id;
}

// ---------------------------------------------------------------- who may be written about: in the usercache file

/**
 * The number of a user whom rows may be written about: from registration to erasure. Throws `MOBILITY_USER_UNKNOWN`.
 * Inside `write` only: an erasure ends the admission first and takes the rows after, so that what was written before
 * goes with them.
 */
export function admittedUser(usercache: StatementSource, userId: string): number {
  const sql = 'SELECT id FROM user_ids WHERE uuid = ? AND admitted = 1';
  const row = usercache.sql(sql).get<{ id: number }>(escapeText(userId));
  if (row === undefined) throw notAdmitted();
  return row.id;
}

/** True when rows may be written about the user. */
export function isAdmitted(usercache: StatementSource, userId: string): boolean {
  return usercache.sql('SELECT 1 FROM user_ids WHERE uuid = ? AND admitted = 1').get(escapeText(userId)) !== undefined;
}

/** Lets rows be written about the user. Inside `write` only. */
export function admitUser(usercache: StatementSource, userId: string): void {
  const sql = 'INSERT INTO user_ids (uuid, admitted) VALUES (?, 1) ON CONFLICT (uuid) DO UPDATE SET admitted = 1';
  usercache.sql(sql).run(escapeText(userId));
}

/** Lets no more rows be written about the user. Inside `write` only. */
export function dismissUser(usercache: StatementSource, userId: string): void {
  usercache.sql('UPDATE user_ids SET admitted = 0 WHERE uuid = ?').run(escapeText(userId));
}

/** Numbers of keys. A process remembers those it has seen committed, until names were given up. */
export interface KeyNumbers {
  /** The number of a key; null when the file has none. */
  find(name: string): number | null;
  /** The number of a key, given now if need be. Inside `write` only. */
  intern(name: string): number;
  nameOf(id: number): string;
  /** To be called when a transaction was undone: numbers given in it are free again. */
  forget(): void;
  /** To be called when names were taken from numbers: every process forgets what it remembers. Inside `write` only. */
  giveUp(): void;
  /** To be called when a transaction begins: forgets what was given up meanwhile. */
  refresh(): void;
}

const mostRemembered = 10_000;

/** What stands in place of the name of a key that nobody uses any more; no name looks like it when it is escaped. */
export function forgottenName(id: number): string {
  return `\\gone ${id}`;
}

/** The numbers of keys in the rows of a file. */
export function keyNumbers(file: StatementSource): KeyNumbers {
  const ids = new Map<string, number>();
  const names = new Map<number, string>();
  const remember = (name: string, id: number): number => {
    if (ids.size >= mostRemembered) forget();
    ids.set(name, id);
    names.set(id, name);
    return id;
  };
  const forget = (): void => {
    ids.clear();
    names.clear();
  };
  const find = (name: string): number | null => {
    const known = ids.get(name);
    if (known !== undefined) return known;
    const row = file.sql('SELECT id FROM keys WHERE name = ?').get<{ id: number }>(escapeText(name));
    return row === undefined ? null : remember(name, row.id);
  };
  const intern = (name: string): number => {
    const known = find(name);
    if (known !== null) return known;
    const row = file.sql('INSERT INTO keys (name) VALUES (?) RETURNING id').get<{ id: number }>(escapeText(name))!;
    return remember(name, row.id);
  };
  const nameOf = (id: number): string => {
    const known = names.get(id);
    if (known !== undefined) return known;
    const row = file.sql('SELECT name FROM keys WHERE id = ?').get<{ name: string }>(id);
    if (row === undefined) throw new TypeError(`expected a key with the number ${id} in ${file.path}, found none`);
    const name = unescapeText(row.name);
    remember(name, id);
    return name;
  };
  let seen = 0;
  const refresh = (): void => {
    const row = file.sql("SELECT value FROM counters WHERE name = 'given up'").get<{ value: number }>();
    if ((row?.value ?? 0) === seen) return;
    seen = row?.value ?? 0;
    forget();
  };
  const giveUp = (): void => {
    const sql =
      "INSERT INTO counters (name, value) VALUES ('given up', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1";
    file.sql(sql).run();
    forget();
  };
  return { find, intern, nameOf, forget, giveUp, refresh };
}

/** The next `count` numbers of a counter that never gives one twice; returns the first. Inside `write` only. */
export function takeNumbers(file: StatementSource, counter: 'revision' | 'fence', count: number): number {
  const sql = 'UPDATE counters SET value = value + ? WHERE name = ? RETURNING value';
  return file.sql(sql).get<{ value: number }>(count, counter)!.value - count + 1;
}
