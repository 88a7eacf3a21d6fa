import { globSync } from "node:fs";

export interface NavigationGroup {
  readonly title: string;
  /** Paths in the repository. */
  readonly pages: readonly string[];
}

const groups: readonly NavigationGroup[] = [
  {
    title: "Start",
    pages: ["README.md", "docs/migration.md", "docs/coming-from.md", "docs/chat.md", "docs/cli.md", "docs/settings.md"],
  },
  {
    title: "In a program",
    pages: ["docs/library.md", "docs/adapters/*.md", "docs/sync.md", "docs/loop.md", "docs/telemetry.md", "api.md"],
  },
  {
    title: "How it works",
    pages: [
      "docs/architecture.md",
      "docs/transcript.md",
      "docs/tokens.md",
      "docs/planner.md",
      "docs/presets.md",
      "docs/layers/*.md",
      "GLOSSARY.md",
    ],
  },
  {
    title: "Memory and recall",
    pages: ["docs/memory.md", "docs/recall.md", "docs/instructions.md", "docs/secrets.md"],
  },
  {
    title: "The agent",
    pages: [
      "docs/tools.md",
      "docs/sandbox.md",
      "docs/hooks.md",
      "docs/mcp.md",
      "docs/agents.md",
      "docs/teams.md",
      "docs/messages.md",
    ],
  },
  {
    title: "Measure and test",
    pages: [
      "docs/replay.md",
      "docs/fidelity.md",
      "docs/benchmarks.md",
      "docs/simulator*.md",
      "docs/scenarios.md",
      "docs/cassettes.md",
    ],
  },
];

/** Every page of the site, in the order of its navigation. What no group names is in the last one. */
export function siteMap(root: string): readonly NavigationGroup[] {
  const find = (pattern: string): readonly string[] =>
    globSync(pattern, { cwd: root })
      .map((path) => path.replaceAll("\\", "/"))
      .toSorted();
  const taken = new Set<string>();
  const take = (pages: readonly string[]): readonly string[] =>
    pages.flatMap(find).filter((page) => !taken.has(page) && taken.add(page));
  const named = groups.map(({ title, pages }) => ({ title, pages: take(pages) }));
  const more = { title: "More", pages: take(["docs/**/*.md", "CONTRIBUTING.md", "CHANGELOG.md"]) };
  return [...named, more].filter(({ pages }) => pages.length > 0);
}
