// Levels are centimetres everywhere inside. These are for people.

const cmPerFoot = 30.48;

export const metres = (cm) => `${(cm / 100).toFixed(2)} m`;

export const feet = (cm) => `${(cm / cmPerFoot).toFixed(1)} ft`;

export function levelText(cm, unit = "metric") {
  switch (unit) {
    case "metric":
      return metres(cm);
    case "imperial":
      return feet(cm);
    case "both":
      return `${metres(cm)} (${feet(cm)})`;
    default:
      throw new Error(`there is no unit ${unit}`);
  }
}

/** With its sign: `+12 cm`, `−3 cm`, `±0 cm`. */
export function changeText(cm) {
  if (cm === 0) return "±0 cm";
  return `${cm > 0 ? "+" : "−"}${Math.abs(cm)} cm`;
}
