// Prints the official schemas of requests (by the name of their validator) and of messages.
import * as rest from "@rocket.chat/rest-typings";
import { schemas } from "@rocket.chat/core-typings";

const requests = Object.fromEntries(
  Object.entries(rest)
    .filter(([, validator]) => typeof validator === "function" && validator.schema)
    .map(([name, validator]) => [name, validator.schema]),
);
console.log(JSON.stringify({ requests, components: schemas.components }));
