/** The points of a vector set as requests have them. */
import { requestBytes } from './connection.mjs';

/** Each point of a set in JSON, its row as id. */
export function pointsInJson(set) {
  return Array.from({ length: set.rows }, (_, row) => {
    const payload = set.payloads ? `,"payload":${JSON.stringify(set.payloads[row])}` : '';
    return `{"id":${row},"vector":${set.baseJson(row)}${payload}}`;
  });
}

/**
 * The requests that upsert some points, so many at a time.
 *
 * @param {URL} url of the server
 * @param {string} collection
 * @param {string[]} points in JSON
 * @param {number} batch
 */
export function upsertsOf(url, collection, points, batch) {
  const requests = [];
  for (let first = 0; first < points.length; first += batch) {
    const body = `{"points":[${points.slice(first, first + batch).join(',')}]}`;
    requests.push(requestBytes(url, 'PUT', `/collections/${collection}/points?wait=true`, body));
  }
  return requests;
}
