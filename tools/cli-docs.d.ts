import type { Command } from 'commander';

export function cliPage(text: string, program: Command): string;
