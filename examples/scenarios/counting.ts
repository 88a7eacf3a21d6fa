import type { ScenarioForm } from "../../src/simulator/scenario/schema.ts";

export const scenario: ScenarioForm = {
  name: "counting",
  moves: ({ request }) => ({ text: `That was message ${request.messages.length}.` }),
};
