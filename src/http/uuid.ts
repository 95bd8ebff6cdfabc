/** A UUID in its hyphenated, simple or URN form, as ids of points are (C2.1). */
export const UUID = /^(?:(?:urn:uuid:)?[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|[\da-f]{32})$/i;
