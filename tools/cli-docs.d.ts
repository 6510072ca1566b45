import type { CommandUnknownOpts } from '@commander-js/extra-typings';

export function cliPage(text: string, program: CommandUnknownOpts): string;
