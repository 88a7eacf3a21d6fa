import { parseSync, Visitor, type Expression } from "oxc-parser";

export interface Import {
  /** As written; undefined if it is computed and so unknown without running the code. */
  readonly specifier: string | undefined;
  readonly line: number;
}

export type ImportsReading =
  | { readonly kind: "read"; readonly imports: readonly Import[] }
  | { readonly kind: "unreadable"; readonly why: string };

/**
 * Finds every way in which a module can name another: import and export-from statements (of types too), `import()` and
 * `import("…").Type`. Uses a real parser, because a regular expression would also match strings, comments and templates, and
 * would miss the last two kinds.
 */
export function importsOf(path: string, source: string): ImportsReading {
  const { program, errors } = parseSync(path, source);
  const [error] = errors;
  if (error !== undefined) return { kind: "unreadable", why: error.message };

  const imports: Import[] = [];
  const add = (specifier: string | undefined, offset: number): void => {
    imports.push({ specifier, line: lineAt(source, offset) });
  };
  const visitor = new Visitor({
    ImportDeclaration: (node) => add(node.source.value, node.start),
    ExportAllDeclaration: (node) => add(node.source.value, node.start),
    ExportNamedDeclaration: (node) => {
      if (node.source !== null) add(node.source.value, node.start);
    },
    ImportExpression: (node) => add(literal(node.source), node.start),
    TSImportType: (node) => add(node.source.value, node.start),
  });
  visitor.visit(program);
  return { kind: "read", imports };
}

const literal = (node: Expression): string | undefined =>
  node.type === "Literal" && typeof node.value === "string" ? node.value : undefined;

const lineAt = (source: string, offset: number): number => source.slice(0, offset).split("\n").length;
