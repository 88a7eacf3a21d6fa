// What is known of each station. Offsets are those of the place, in minutes, the whole year: gauges know no summer time.

const stations = [
  { code: "HARROW", name: "Harrow Bridge", river: "Lenn", offsetMinutes: 60, alarmsCm: [320, 380, 440] },
  { code: "SALTER", name: "Salter's Weir", river: "Lenn", offsetMinutes: 60, alarmsCm: [280, 350, 410] },
  { code: "QUERN", name: "Quern Mill", river: "Oske", offsetMinutes: 60, alarmsCm: [190, 240, 300] },
  { code: "TWYFORD", name: "Twyford Lock", river: "Oske", offsetMinutes: 60, alarmsCm: [260, 310, 370] },
  { code: "ESKER", name: "Esker Head", river: "Brae", offsetMinutes: 0, alarmsCm: [150, 210, 260] },
  { code: "MORROW", name: "Morrow Sands", river: "Brae", offsetMinutes: 0, alarmsCm: [410, 470, 530] },
];

const byCode = new Map(stations.map((station) => [station.code, station]));

/** A station that says nothing for so long is called silent. */
const silentMillis = 2 * 3_600_000;

export function stationOf(code) {
  const station = byCode.get(code);
  if (station === undefined) throw new Error(`there is no station ${code}`);
  return station;
}

export const allStations = () => stations;

export const ofRiver = (river) => stations.filter((station) => station.river === river);

/** `newest`: time of the newest reading by code. */
export const silentStations = (newest, now) =>
  stations.filter(({ code }) => now - (newest.get(code) ?? Number.NEGATIVE_INFINITY) > silentMillis);
