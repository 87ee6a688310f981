//! Addresses that mean names.
//!
//! A sandbox is given one for each listed name that it asks for. They lie in a range that is set aside for tests of networks
//! (198.18.0.0/15), so they are nobody's; whoever connects to one has said the name.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use crate::name::Name;

const FIRST: u32 = 0xc612_0001;
/// So many names are remembered. Each is a few dozen bytes; a sandbox that asks for more gets no answer.
const MOST: usize = 65_000;

#[derive(Debug, Default)]
pub(super) struct Names {
    names: Vec<Name>,
    places: BTreeMap<Name, u32>,
}

impl Names {
    /// The address of a name: the same as long as the sandbox lives.
    pub(super) fn address_of(&mut self, name: &Name) -> Option<Ipv4Addr> {
        let place = match self.places.get(name) {
            Some(place) => *place,
            None => {
                let place = u32::try_from(self.names.len()).ok().filter(|_| self.names.len() < MOST)?;
                self.names.push(name.clone());
                self.places.insert(name.clone(), place);
                place
            }
        };
        Some(Ipv4Addr::from_bits(FIRST + place))
    }

    /// The name that an address means.
    pub(super) fn name_of(&self, address: Ipv4Addr) -> Option<&Name> {
        let place = address.to_bits().checked_sub(FIRST)?;
        self.names.get(usize::try_from(place).ok()?)
    }
}
