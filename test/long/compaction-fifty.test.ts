import { it } from "vitest";
import { expectSurvives } from "../scenario/support/long-session.ts";

it("50 compactions in a row with an adversary for a summariser: the first message verbatim, bounded size, nothing refused or invented, all recoverable by id", () =>
  expectSurvives(50));
