#!/usr/bin/env node
import { growFreely } from '../dist/cli/heap.js';
// Starts the command line, nothing else.
import { main } from '../dist/cli/main.js';

growFreely();
process.exitCode = await main(process.argv);
