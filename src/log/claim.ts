// The right to write a log file: at most one process has it, and it passes on when that process is gone.
import { linkSync, readFileSync, readlinkSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '../model/ids.ts';
import { type LogKind, sourceName } from './names.ts';

/** A source that this process alone may write, until `release`. */
export interface Claim {
  readonly source: string;
  /** Says that the owner lives; false when the claim has been lost to another process. To be called each `renewSeconds`. */
  renew(now: number): boolean;
  /** Gives the source back; a second time does nothing. */
  release(): void;
}

/** s between two renewals of a claim. */
export const renewSeconds = 20;

// s without renewal after which an owner counts as gone. Whether a process in the same place lives can be asked, so silence alone
// tells little there: it may be suspended. A process in another container or on another host cannot be asked.
const silentHere = 3600;
const silentElsewhere = 120;

interface Owner {
  token: string;
  /** Where its process number means something. */
  place: string;
  pid: number;
}

const lockPath = (folder: string, source: string): string => join(folder, `.${source}.lock`);

/** Claims the first free source of the kind: `pipeline`, and if another process writes that, `pipeline-2`, and so on. */
export function claimSource(folder: string, kind: LogKind, now: number): Claim {
  for (let number = 1; ; number += 1) {
    const claim = claimOne(folder, sourceName(kind, number), now);
    if (claim !== null) return claim;
  }
}

/** Claims that source; null when a living process has it. Throws what the file system throws. */
export function claimOne(folder: string, source: string, now: number): Claim | null {
  const path = lockPath(folder, source);
  const owner: Owner = { token: newUuid(), place: thisPlace(), pid: process.pid };
  for (let attempt = 0; attempt < 3; attempt += 1) {
    if (create(path, owner)) return claimOf(path, source, owner.token);
    const found = readLock(path);
    if (found !== null && !isGone(found, now)) return null;
    if (found !== null) takeAway(path, found.text);
  }
  return null;
}

function claimOf(path: string, source: string, token: string): Claim {
  let held = true;
  const isOurs = (): boolean => held && readLock(path)?.owner?.token === token;
  return {
    source,
    renew: (now) => {
      held = isOurs();
      if (held) utimesSync(path, now, now);
      return held;
    },
    release: () => {
      if (isOurs()) rmSync(path, { force: true });
      held = false;
    },
  };
}

function create(path: string, owner: Owner): boolean {
  try {
    writeFileSync(path, JSON.stringify(owner), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (codeOf(error) === 'ENOSPC') rmSync(path, { force: true });
    throw error;
  }
}

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

interface Lock {
  text: string;
  /** null when the text makes no sense, as when it is still being written. */
  owner: Owner | null;
  /** Last renewal, seconds since the epoch. */
  renewed: number;
}

function readLock(path: string): Lock | null {
  try {
    const text = readFileSync(path, 'utf8');
    return { text, owner: readOwner(text), renewed: statSync(path).mtimeMs / 1000 };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

function readOwner(text: string): Owner | null {
  try {
    const owner = JSON.parse(text) as Partial<Owner> | null;
    if (typeof owner?.token !== 'string' || typeof owner.place !== 'string' || !Number.isInteger(owner.pid))
      return null;
    return owner as Owner;
  } catch {
    return null;
  }
}

function isGone({ owner, renewed }: Lock, now: number): boolean {
  const silent = now - renewed;
  if (owner === null || owner.place !== thisPlace()) return silent > silentElsewhere;
  return !isAlive(owner.pid) || silent > silentHere;
}

// Containers may share a host's name without sharing its process numbers, so Linux is asked for what makes them unique.
function thisPlace(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()} ${readlinkSync('/proc/self/ns/pid')}`;
  } catch {
    return hostname();
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM'; // it lives, and belongs to somebody else
  }
}

// Two processes may find the same dead owner. The slower one would take away the lock that the faster one has just made:
// it looks at what it holds, and puts it back.
function takeAway(path: string, text: string): void {
  const away = `${path}.${newUuid()}`;
  try {
    renameSync(path, away);
    if (readFileSync(away, 'utf8') !== text) linkSync(away, path);
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(codeOf(error) ?? '')) throw error;
  } finally {
    rmSync(away, { force: true });
  }
}
