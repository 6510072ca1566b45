import { installedLicences } from '../../upkeep/read-licences.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { table } from '../output.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('licences')
    .examples(`
  mobility licences
  mobility licences --json | jq -r .[].licence | sort | uniq -c`)
    .action(
      context.run(async () => {
        const found = installedLicences();
        const rows = found.map(({ name, version, licence }) => [name, version, licence ?? 'none named']);
        await context.output.result({ packages: found }, () => table([['PACKAGE', 'VERSION', 'LICENCE'], ...rows]));
      }),
    );
}
