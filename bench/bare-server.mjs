/** A minimal server of Node's `http`: it reads a request and answers it. Prints its port; ends with its input. */
import { createServer } from 'node:http';

// No timeout: the client measures other things between two series of requests.
const server = createServer({ noDelay: true, keepAliveTimeout: 0 }, (request, response) => {
  request.resume();
  request.on('end', () => response.end('{}'));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on('end', () => process.exit());
