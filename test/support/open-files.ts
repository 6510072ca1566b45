// Which files this process has open, as Linux lists them.
import { readdirSync, readlinkSync } from 'node:fs';

export function openFilesIn(folder: string): string[] {
  const open = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // the folder that is being read
    }
  });
  return open.filter((path) => path.startsWith(folder));
}
