// Decides which server writes `server-…` log files; a second server at the same time writes `server-2-…`.
import { readFileSync, readlinkSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { newUuid } from '../model/ids.ts';

/** A source of this process, until `release`. */
export interface Claim {
  readonly source: string;
  /** Says that the owner lives; false when another process has the source. To be called each `renewSeconds`. */
  renew(now: number): boolean;
  /** Gives the source back; a second time does nothing. */
  release(): void;
}

/** s between two renewals of a claim. */
export const renewSeconds = 20;

// s without renewal after which an owner counts as gone. A process in the same place can be asked whether it lives, so
// silence tells little: it may be suspended. A process in another container or on another host cannot be asked.
const silentHere = 3600;
const silentElsewhere = 120;

/** Who has a source; `place`: where the process number means something. */
interface Owner {
  token: string;
  place: string;
  pid: number;
}

/**
 * Claims the first source that no living server has. Two servers that find the same dead owner at once may both take
 * its source: they share the file, which loses no line, and one of them finds out when it renews.
 */
export function claimSource(folder: string, now: number): Claim {
  const owner: Owner = { token: newUuid(), place: thisPlace(), pid: process.pid };
  for (let number = 1; ; number += 1) {
    const source = number === 1 ? 'server' : `server-${number}`;
    const path = join(folder, `.${source}.lock`);
    if (!write(path, owner, 'wx')) {
      if (!isGone(path, owner.place, now)) continue;
      write(path, owner, 'w');
    }
    const isOurs = (): boolean => ownerOf(path)?.token === owner.token;
    return {
      source,
      renew: (at) => {
        if (!isOurs()) return false;
        try {
          utimesSync(path, at, at);
        } catch {} // the file system has trouble, not the claim
        return true;
      },
      release: () => {
        if (isOurs()) rmSync(path, { force: true });
      },
    };
  }
}

/** False if there is such a file. */
function write(path: string, owner: Owner, flag: 'w' | 'wx'): boolean {
  try {
    writeFileSync(path, JSON.stringify(owner), { flag, mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    if (codeOf(error) === 'ENOSPC') rmSync(path, { force: true });
    throw error;
  }
}

function isGone(path: string, place: string, now: number): boolean {
  const renewed = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  if (renewed === undefined) return true;
  const silent = now - renewed / 1000;
  const owner = ownerOf(path);
  if (owner?.place !== place) return silent > silentElsewhere;
  return !isAlive(owner.pid) || silent > silentHere;
}

/** null if the file does not exist or cannot be read as a claim, such as while it is being written. */
function ownerOf(path: string): Owner | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
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

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;
