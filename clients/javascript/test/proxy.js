// A TCP proxy that breaks connections at a command.

import { connect, createServer } from 'node:net';

export class Proxy {
  #sockets = new Set();
  #trap = null;
  // What is held back, while it is: callbacks that forward it.
  #held = null;

  constructor(target) {
    this.target = target;
  }

  async start() {
    this.server = createServer((client) => this.#accept(client));
    await this.up();
    this.port = this.server.address().port;
    this.url = `redis://127.0.0.1:${this.port}`;
    return this;
  }

  #accept(client) {
    const server = connect(this.target, '127.0.0.1');
    const end = () => [client, server].forEach((socket) => socket.destroy());
    for (const socket of [client, server]) {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.on('error', end).on('close', () => {
        this.#sockets.delete(socket);
        end();
      });
    }
    let swallows = false;
    client.on('data', (bytes) => this.#forward(() => toServer(bytes), 'requests', end));
    const toServer = (bytes) => {
      if (server.destroyed) return;
      const trap = this.#trap;
      if (trap && bytes.includes(trap.command)) {
        this.#trap = null;
        trap.sprung = true;
        if (trap.moment === 'before') return end();
        if (trap.moment === 'middle') return server.write(bytes.subarray(0, bytes.indexOf(trap.command) + 5), end);
        swallows = true;
      }
      server.write(bytes);
    };
    // The reply tells that the command has run.
    server.on('data', (bytes) => this.#forward(() => (swallows ? end() : client.destroyed || client.write(bytes)), 'replies', end));
  }

  #forward(act, direction, end) {
    if (this.#held === null || !this.#held.directions.includes(direction)) act();
    else this.#held.acts.push(this.#held.isHole ? end : act);
  }

  /** With all connections open, nothing gets through until `release`, which closes those that have lost something. */
  blackHole() {
    this.#held = { directions: ['requests', 'replies'], isHole: true, acts: [] };
  }

  /** What is sent in a direction ('requests', 'replies') waits until `release`. */
  holdBack(...directions) {
    this.#held = { directions, isHole: false, acts: [] };
  }

  release() {
    const acts = this.#held?.acts ?? [];
    this.#held = null;
    for (const act of acts) act();
  }

  /** Breaks the connection at the next command of this name: before it reaches the server, in its middle, or after it ran. */
  breakAt(command, moment) {
    this.#trap = { command, moment, sprung: false };
    return this.#trap;
  }

  disarm() {
    this.#trap = null;
  }

  /** Refuses connections, as a server that is not there does. */
  down() {
    const closed = new Promise((done) => this.server.close(done));
    this.#sockets.forEach((socket) => socket.destroy());
    return closed;
  }

  async up() {
    await new Promise((done) => this.server.listen(this.port ?? 0, '127.0.0.1', done));
  }

  stop() {
    return this.server.listening ? this.down() : null;
  }
}
