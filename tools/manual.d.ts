import type { CommandUnknownOpts } from '@commander-js/extra-typings';

export function commandsIn(program: CommandUnknownOpts): { words: string[]; command: CommandUnknownOpts }[];
