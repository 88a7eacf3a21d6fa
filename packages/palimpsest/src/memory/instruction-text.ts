import type { Instruction } from "./load-instruction-file.ts";

/** One file as the model gets it. `reach`: the part of the project that it counts for; absent: everything. */
export const instructionText = ({ path, scope, text, importedBy, fetchedOn }: Instruction, reach?: string): string =>
  `# Instructions from ${path}${fetchedOn === undefined ? "" : `, fetched ${fetchedOn}`}
(${[scopeText[scope], reach, importedBy && `imported by ${importedBy}`].filter((part) => part !== undefined).join("; ")})

${text}`;

const scopeText: { readonly [Scope in Instruction["scope"]]: string } = {
  managed: "for everybody on this machine",
  user: "the user's own, for all projects",
  project: "for everybody in this project",
  local: "the user's own, for this project",
};
