#!/usr/bin/env node
// Starts the command line, nothing else.
import { main } from '../dist/cli/main.js';

process.exitCode = await main(process.argv);
