import { createSecretScanner } from "../../packages/cli/src/host/secret-scanner.ts";
import { ruleScanner } from "../../packages/palimpsest/src/memory/redact-secrets.ts";
import { secretScannerContract } from "./secret-scanner.ts";

secretScannerContract("the engine's rules", () => ruleScanner);
secretScannerContract("the command line's, with secretlint's rules", createSecretScanner);
