/** A format by which a secret can be recognised wherever it stands. If there is a group `secret`, only that is the secret. */
interface SecretShape {
  readonly kind: string;
  readonly shape: RegExp;
}

/** The bounds keep the search linear: without them a long run of plain characters would be searched again at each position. */
export const secretShapes: readonly SecretShape[] = [
  {
    kind: "private-key",
    shape:
      /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-(?!-----?(?:BEGIN|END))){24,16384}?-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----/g,
  },
  // A key that was cut off by a limit or a preview: the rest of it is masked.
  {
    kind: "private-key",
    shape:
      /-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:\\r|\\n|\s){1,8}[A-Za-z0-9+/=]{16,})+(?:(?:\\r|\\n|[\r\n]){1,4}[A-Za-z0-9+/=]+$)?/g,
  },
  // The same in base64, as in a kubeconfig. Certificates begin differently.
  {
    kind: "private-key",
    shape: /LS0tLS1CRUdJTi(?:BFQyBQUklW|BQUklWQVRF|BSU0EgUFJJVk|BPUEVOU1NI|BFTkNSWVBU)[A-Za-z0-9+/=]{24,}/g,
  },
  { kind: "age-key", shape: /\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b/g },
  // Models
  { kind: "anthropic-key", shape: /\bsk-ant-[A-Za-z0-9_-]{16,}/g },
  { kind: "openai-key", shape: /\bsk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}|\bsk-[A-Za-z0-9]{32,}\b/g },
  { kind: "openrouter-key", shape: /\bsk-or-v1-[0-9a-f]{64}\b/g },
  { kind: "huggingface-token", shape: /\bhf_[A-Za-z0-9]{30,}\b/g },
  { kind: "groq-key", shape: /\bgsk_[A-Za-z0-9]{48,}\b/g },
  { kind: "xai-key", shape: /\bxai-[A-Za-z0-9]{60,}\b/g },
  { kind: "replicate-token", shape: /\br8_[A-Za-z0-9]{37}\b/g },
  { kind: "perplexity-key", shape: /\bpplx-[A-Za-z0-9]{40,}\b/g },
  // Code, packages, builds
  { kind: "github-token", shape: /\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{22,}/g },
  {
    kind: "gitlab-token",
    shape: /\bglpat-[A-Za-z0-9_-]{20,}|\bgl(?:dt|rt|ptt|cbt|soat|agent|ft|imt|oas)-[A-Za-z0-9_-]{20,}/g,
  },
  { kind: "bitbucket-token", shape: /\bATBB[A-Za-z0-9]{32,}\b|\bATCTT3[A-Za-z0-9_=-]{100,300}/g },
  { kind: "atlassian-token", shape: /\bATATT3[A-Za-z0-9_=-]{100,300}/g },
  { kind: "npm-token", shape: /\bnpm_[A-Za-z0-9]{36}\b/g },
  { kind: "pypi-token", shape: /\bpypi-AgEI[A-Za-z0-9_-]{40,}/g },
  { kind: "rubygems-key", shape: /\brubygems_[a-f0-9]{48}\b/g },
  { kind: "crates-token", shape: /\bcio[A-Za-z0-9]{32}\b/g },
  { kind: "nuget-key", shape: /\boy2[a-z0-9]{43}\b/g },
  { kind: "docker-token", shape: /\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{27,}/g },
  { kind: "sentry-token", shape: /\bsntry[su]_[A-Za-z0-9_=+/-]{40,}/g },
  { kind: "grafana-token", shape: /\bgl(?:sa|c)_[A-Za-z0-9_+/=-]{32,}/g },
  { kind: "newrelic-key", shape: /\bNRAK-[A-Z0-9]{27}\b/g },
  { kind: "postman-key", shape: /\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b/g },
  { kind: "linear-key", shape: /\blin_api_[A-Za-z0-9]{40}\b/g },
  { kind: "notion-token", shape: /\bntn_[A-Za-z0-9]{40,}\b/g },
  { kind: "figma-token", shape: /\bfigd_[A-Za-z0-9_-]{40,}/g },
  { kind: "airtable-token", shape: /\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b/g },
  // Clouds
  { kind: "aws-key", shape: /\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b/g },
  { kind: "gcp-key", shape: /\bAIza[0-9A-Za-z_-]{35}|\bya29\.[0-9A-Za-z_-]{20,}|\bGOCSPX-[0-9A-Za-z_-]{20,}/g },
  { kind: "azure-key", shape: /\b(?:AccountKey|SharedAccessKey)=(?<secret>[A-Za-z0-9+/]{40,90}={0,2})/g },
  { kind: "azure-signature", shape: /[?&;]sig=(?<secret>[A-Za-z0-9%+/_-]{40,120}(?:={0,2}|(?:%3D){0,2}))/g },
  { kind: "digitalocean-token", shape: /\bdo[por]_v1_[a-f0-9]{64}\b/g },
  { kind: "heroku-key", shape: /\bHRKU-[A-Za-z0-9_-]{36,64}/g },
  { kind: "alibaba-key", shape: /\bLTAI[A-Za-z0-9]{17,21}\b/g },
  { kind: "databricks-token", shape: /\bdapi[a-f0-9]{32}(?:-\d)?\b/g },
  { kind: "vault-token", shape: /\bhv[sbr]\.[A-Za-z0-9_-]{24,}/g },
  { kind: "terraform-token", shape: /\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,70}/g },
  { kind: "pulumi-token", shape: /\bpul-[a-f0-9]{40}\b/g },
  { kind: "doppler-token", shape: /\bdp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}\b/g },
  { kind: "1password-token", shape: /\bops_eyJ[A-Za-z0-9_=-]{100,}/g },
  { kind: "tailscale-key", shape: /\btskey-(?:auth|api|client|scim|webhook)-[A-Za-z0-9_-]{20,}/g },
  { kind: "planetscale-token", shape: /\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_=.-]{32,}/g },
  { kind: "supabase-key", shape: /\bsbp_[a-f0-9]{40}\b|\bsb_secret_[A-Za-z0-9_-]{31,}/g },
  { kind: "flyio-token", shape: /\b(?:fo1_[\w-]{43}|fm[12][ar]?_[A-Za-z0-9+/]{100,}={0,3})/g },
  // Messages, payments, shops
  { kind: "slack-webhook", shape: /https:\/\/hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9/_-]{20,}/g },
  { kind: "slack-token", shape: /\bxox[abeoprs]-[A-Za-z0-9-]{10,}|\bxapp-\d-[A-Za-z0-9-]{10,}/g },
  {
    kind: "discord-webhook",
    shape: /https:\/\/(?:\w{1,10}\.)?discord(?:app)?\.com\/api\/webhooks\/\d{17,20}\/[\w-]{60,80}/g,
  },
  { kind: "discord-token", shape: /\b[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,42}/g },
  { kind: "telegram-token", shape: /\b\d{8,10}:AA[\w-]{33}(?![\w-])/g },
  { kind: "twilio-key", shape: /\bSK[0-9a-f]{32}\b/g },
  { kind: "sendgrid-key", shape: /\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}/g },
  { kind: "mailgun-key", shape: /\bkey-[0-9a-f]{32}\b/g },
  { kind: "mailchimp-key", shape: /\b[0-9a-f]{32}-us\d{1,2}\b/g },
  { kind: "stripe-key", shape: /\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9+/=]{24,}/g },
  { kind: "square-token", shape: /\bsq0(?:atp|csp)-[\w-]{22,43}|\bEAAA[A-Za-z0-9_-]{60}\b/g },
  { kind: "shopify-token", shape: /\bshp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}\b/g },
  { kind: "jwt", shape: /\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}/g },
];
