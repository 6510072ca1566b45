import { Command } from '@commander-js/extra-typings';

/** A command whose help ends with examples. */
export class DocumentedCommand extends Command {
  /** `text`: a command line per line, then perhaps an empty line and notes. */
  examples(text: string): this {
    const lines = text.replace(/^\n/, '');
    const [commands = ''] = lines.split('\n\n');
    return this.addHelpText('after', `\nExample${commands.includes('\n') ? 's' : ''}:\n${lines}`);
  }
}
