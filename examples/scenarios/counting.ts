import type { ScenarioForm } from "@palimpsest/simulator";

export const scenario: ScenarioForm = {
  name: "counting",
  moves: ({ request }) => ({ text: `That was message ${request.messages.length}.` }),
};
