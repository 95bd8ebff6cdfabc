//! Marks of the rows that a walk has met.

/// A mark per row that is cleared in constant time: a row is marked when its cell holds the number of the walk.
///
/// One set serves all graphs that a worker searches; a clean sweep is due once in 65,535 walks.
#[derive(Default)]
pub(super) struct Visited {
    cells: Vec<u16>,
    walk: u16,
}

impl Visited {
    /// Clears all marks and makes room for rows below `len`.
    pub(super) fn begin(&mut self, len: u32) -> Marks<'_> {
        if self.cells.len() < len as usize {
            self.cells.resize((len as usize).next_multiple_of(4096), 0);
        }
        self.walk = self.walk.wrapping_add(1);
        if self.walk == 0 {
            self.cells.fill(0);
            self.walk = 1;
        }
        Marks { cells: &mut self.cells[..len as usize], walk: self.walk }
    }
}

/// The marks of one walk.
pub(super) struct Marks<'a> {
    cells: &'a mut [u16],
    walk: u16,
}

impl Marks<'_> {
    /// Marks a row. False when it was marked before, or is beyond the rows of this walk.
    #[inline(always)]
    pub(super) fn visit(&mut self, row: u32) -> bool {
        match self.cells.get_mut(row as usize) {
            Some(cell) if *cell != self.walk => {
                *cell = self.walk;
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_last_for_one_walk_even_when_the_counter_wraps() {
        let mut visited = Visited::default();
        for walk in 0..140_000u32 {
            let mut marks = visited.begin(1 + walk % 3);
            assert!(marks.visit(0), "walk {walk}");
            assert!(!marks.visit(0));
            assert!(!marks.visit(1 + walk % 3), "a row beyond the walk");
        }
    }
}
