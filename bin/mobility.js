#!/usr/bin/env node
// Starts the command line, nothing else.
import { main } from '../dist/cli/main.js';
import { growFreely } from '../dist/cli/v8-flags.js';

growFreely();
process.exitCode = await main(process.argv);
