import { type PurgeReport, purgeKeys } from '../../upkeep/purge-documents.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { counted, table } from '../output.ts';
import { selectUsers, withUserChoice } from '../user-options.ts';

export function command(context: CommandContext) {
  return withUserChoice(
    new DocumentedCommand('purge-keys').examples(`
  mobility purge-keys --all --dry-run
  mobility purge-keys --user ada@example.org`),
  )
    .option('--dry-run', 'show which documents and why, remove nothing')
    .action(
      context.run(async (_, { dryRun = false, ...whom }) => {
        const reports: (PurgeReport & { user_email: string })[] = [];
        for await (const { uuid, user_email } of selectUsers(context, whom)) {
          const report = await purgeKeys(await context.store(), uuid, { dryRun });
          if (report.obsolete.length > 0) reports.push({ user_email, ...report });
        }
        const removed = reports.reduce((sum, report) => sum + report.obsolete.length, 0);
        await context.output.result({ users: reports }, () =>
          table(reports.flatMap((report) => report.obsolete.map(({ key, why }) => [report.user_email, key, why]))),
        );
        context.output.note(`${counted(removed, 'document')} ${dryRun ? 'would be removed' : 'removed'}`);
      }),
    );
}
