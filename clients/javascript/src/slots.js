// Which slot of a cluster a key is in.

export const SLOTS = 16384;

export function crc16(name) {
  let crc = 0;
  for (const byte of Buffer.from(name)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x8000 ? 0x1021 : 0)) & 0xffff;
  }
  return crc;
}

/** What is between the first braces decides alone. */
export function slotOf(key) {
  const name = Buffer.from(key);
  const open = name.indexOf('{');
  const end = open < 0 ? -1 : name.indexOf('}', open + 1);
  return crc16(end > open + 1 ? name.subarray(open + 1, end) : name) % SLOTS;
}
