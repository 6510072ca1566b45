import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

interface Licensed {
  name: string;
  version: string;
  /** As in package.json, usually an SPDX expression; null if there is none. */
  licence: string | null;
}

interface Manifest {
  name: string;
  version: string;
  license?: string | { type?: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
}

/** Lists this package and its dependencies by name and version. Leaves out optional packages that are not installed. */
export function installedLicences(): Licensed[] {
  const found = new Map<string, Licensed>();
  const folders = [fileURLToPath(new URL('../..', import.meta.url))];
  // The loop appends to the list that it reads.
  for (const folder of folders) {
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
    const { name, version, license, dependencies, optionalDependencies } = manifest;
    const id = `${name}@${version}`;
    if (found.has(id)) continue;
    found.set(id, { name, version, licence: (typeof license === 'object' ? license.type : license) ?? null });
    for (const needed of Object.keys({ ...dependencies, ...optionalDependencies })) {
      const at = installedAt(folder, needed);
      if (at !== null) folders.push(at);
    }
  }
  return [...found.keys()].sort().map((id) => found.get(id)!);
}

/** Finds a dependency of a package: in its own `node_modules`, else in `node_modules` of the folders above it. */
function installedAt(folder: string, name: string): string | null {
  for (let from = folder; ; from = dirname(from)) {
    const candidate = join(from, 'node_modules', name);
    if (existsSync(join(candidate, 'package.json'))) return candidate;
    if (from === dirname(from)) return null;
  }
}
