// Reads texts with a published parser, a line of JSON in and a line of JSON out.
// Arguments: the folder whose node_modules has it, its name, then JSON of what parse() also takes.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, name, ...rest] = process.argv.slice(2);
const parser = createRequire(`${folder}/package.json`)(name);
const others = rest.map((argument) => JSON.parse(argument));

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    answer = { tree: parser.parse(JSON.parse(line), ...others) };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
