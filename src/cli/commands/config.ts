import { settings } from '../../config.ts';
import { withoutCredentials } from '../../model/address.ts';
import { DocumentedCommand } from '../arguments.ts';
import type { CommandContext } from '../context.ts';
import { listing } from '../output.ts';

export function command(context: CommandContext) {
  return new DocumentedCommand('config')
    .examples(`
  mobility config
  MOBILITY_PORT=9000 mobility config --json`)
    .action(
      context.run(async () => {
        const inForce = settingsInForce(context);
        const rows = inForce.map(({ variable, value, source }) => [variable, String(value), source]);
        await context.output.result({ settings: inForce }, () => listing(['VARIABLE', 'VALUE', 'FROM'], rows));
        // A variable that is not a setting may be a misspelt name of a setting.
        const known = ['MOBILITY_DEBUG', ...settings.map(({ variable }) => variable)];
        const names = Object.keys(context.env).filter((name) => name.startsWith('MOBILITY_'));
        const unknown = names.filter((name) => !known.includes(name));
        if (unknown.length > 0) context.output.note(`not settings, ignored: ${unknown.join(', ')}`);
      }),
    );
}

function settingsInForce(context: CommandContext) {
  const config = context.config();
  return settings.map(({ name, variable, meaning }) => {
    const fromFlag = context.flags.settings[name] !== undefined;
    const source = fromFlag ? 'flag' : context.env[variable] !== undefined ? 'variable' : 'default';
    const value = config[name];
    return { name, variable, value: typeof value === 'string' ? withoutCredentials(value) : value, source, meaning };
  });
}
